"""Words that carry no meaning alone, in languages that are written with blanks."""

from __future__ import annotations

_TEXT = """
a about above across after again against ago all almost along already also although always am among an and another any
anyone anything are aren around as at away back be became because become becomes been before behind being below
between beyond both but by came can cannot come comes could couldn did didn do does doesn doing don done down during
each either else even ever every everyone everything except few for from further get gets getting give given gives go
goes going gone got had hadn has hasn have haven having he her here hers herself him himself his how however if in
into is isn it its itself just keep keeps last least let like ll made make makes making many may me might mine more
most much must my myself near need needs neither never next no nobody none nor not nothing now of off often on once
one ones only onto or other others our ours ourselves out over own per perhaps put quite rather re really same say
says see seem seems several shall she should shouldn since so some someone something soon still such take takes than
that the their theirs them themselves then there these they thing things this those though three through throughout
thus to together too toward towards two under until up upon us used using ve very via was wasn way we well went were
weren what when where whether which while who whom whose why will with within without won would wouldn yet you your
yours yourself

aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei beim
bin bis bist da dabei dadurch dafür damit dann daran darauf daraus darin das dass dasselbe davon dazu dein deine dem
den denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
einen einer eines er es etwas euch euer eure für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm
ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede jedem jeden jeder jedes jene jetzt kann kein keine
keinem keinen keiner können könnte machen man manche mehr mein meine mich mir mit muss musste nach nicht nichts noch
nun nur ob oder ohne sehr sein seine seinem seinen seiner seit selbst sich sie sind so solche soll sollte sondern
sonst über um und uns unser unsere unter viel vom von vor war waren warst was weg weil weiter welche welcher wenn
werde werden wie wieder will wir wird wo wollen würde würden während zu zum zur zwar zwischen

au aux avec ce ces cet cette dans de des du elle elles en est et eu il ils je la le les leur leurs lui ma mais mes moi
mon même ne nos notre nous on ont ou où par pas pour qu que qui sa sans se ses son sont sur ta te tes toi ton tu un
une vos votre vous été être avoir fait comme plus tout tous toute toutes très aussi ainsi alors après avant chez

algo algunos ante antes como con contra cual cuando del desde donde durante ella ellas ellos entre era es esa ese eso
esta estas este esto estos está están fue ha han hasta hay la las lo los más me mi mis mucho muy nada ni no nos
nosotros nuestra nuestro o otra otro para pero poco por porque que quien se ser si sin sobre son su sus también tanto
te tiene todo todos tu un una uno unos y ya yo él

ao aos até com da das depois do dos ela elas ele eles em entre era essa esse esta este eu foi isso isto já lhe mais
mas mesmo meu minha muito na nas nem no nos não num numa nós o os ou para pela pelas pelo pelos por qual quando que
quem se sem ser seu seus sua suas são só também te tem um uma você

agli ai al alla alle anche che chi ci come con cui dagli dai dal dalla dalle degli dei del della delle di dove e ed
era essere fra gli hanno i il in io la le lei lo loro ma mi mia mio ne negli nei nel nella nelle noi non nostra nostro
o per perché più quella quelle quello questa questo se sei si sia sono sua sue sugli sui sul sulla suo ti tra tu tua
un una uno vi voi è

aan al alles als altijd bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen geweest haar
had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met mij mijn
moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen toch toen tot u uit uw van veel voor want
waren was wat werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou

att av blev bli blir de dem den denna det detta dig din då efter eller en ett från för ha hade han hans har hennes hon
honom hur här i inte jag kan man med mellan men mig min mot mycket ni nu när och om oss på samma sedan sig sin sina
ska så till under upp ut utan vad var vara varit vi vid är än år över af at blive der deres dig disse dog eller end er
et fra før har hun hvad hvis hvor ikke ind jeg jo kunne lige med meget mig mod nej noget nogle når og også os sig skal
skulle som sådan til ud var ved vil være på ei han joka ja mutta niin ole oli on se sekä hän että jos kun ovat i a w z
na nie do się jest to że o jak ale po co tak od za przez dla są być był który jego jej a i v na se je že s z do o k ve
pro za jako ale by byl byla jsou bir ve bu da de için ile çok ne mi o daha gibi olan olarak var

и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет
о из ему теперь когда даже ну ли если или ни быть был него до вас нибудь уж вам ведь там потом себя ничего ей может
они тут где есть надо ней для мы тебя их чем была сам чтоб без будто чего раз тоже себе под будет кто этот того потому
этого какой και το τα η ο οι να του της των με σε για από στο στη στην είναι που θα δεν την τον τους τις
"""

STOP_WORDS = frozenset(_TEXT.split())
"""Left out of vocabularies, as are words of one character."""
