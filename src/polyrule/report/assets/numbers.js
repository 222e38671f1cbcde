// Numbers as people type them: 1,234.5 in English, 1.234,5 in German and Spanish, 1 234,5 in French, 1'234.5 in Switzerland.

function separators(locale) {
  const parts = new Intl.NumberFormat(locale).formatToParts(12345.6);
  const find = (type) => parts.find((part) => part.type === type)?.value;
  return { group: find("group") ?? "", decimal: find("decimal") ?? "." };
}

// NaN where the text is no number. Two different marks tell which is the decimal one; a mark that occurs twice groups;
// one that occurs once is what the reader's language says.
function readNumber(text, locale = navigator.language) {
  const plain = text
    .trim()
    .replace(/[\s\u00a0\u202f'’]/g, "")
    .replace(/−/g, "-");
  if (!/^[-+]?[\d.,]*\d[\d.,]*(e[-+]?\d+)?$/i.test(plain)) return NaN;
  const last = Math.max(plain.lastIndexOf("."), plain.lastIndexOf(","));
  if (last < 0) return Number(plain);
  const mark = plain[last];
  const other = mark === "." ? "," : ".";
  const often = plain.split(mark).length - 1;
  const mantissa = (group, decimal) => Number(plain.replaceAll(group, "").replace(decimal, "."));
  if (plain.includes(other)) return often === 1 ? mantissa(other, mark) : NaN;
  if (often > 1) return grouped(plain, mark) ? Number(plain.replaceAll(mark, "")) : NaN;
  return separators(locale).group === mark && grouped(plain, mark) ? Number(plain.replaceAll(mark, "")) : mantissa(other, mark);
}

// Whether a mark stands where groups of three digits begin.
const grouped = (plain, mark) =>
  plain
    .replace(/^[-+]/, "")
    .split(mark)
    .every((part, at) => (at ? /^\d{3}$/.test(part) : /^\d{1,3}$/.test(part)));
