"""What is said of rules that cannot be read."""

import pytest

from polyrule.data import Feature
from polyrule.errors import ModelError
from polyrule.model import parse_rule


@pytest.mark.parametrize("word", ["and", "AND", "&", "&&", "∧"])
def test_conditions_with_and_are_told_of_the_comma(word):
    """The advice was to put odd names in quotes."""
    features = [Feature("age"), Feature("dose")]
    with pytest.raises(ModelError, match="conditions are separated by commas, not by 'and': dose > 300, age < 40"):
        parse_rule(f"ill <- dose > 300 {word} age < 40", features, ["ill"])
    with pytest.raises(ModelError, match="separate conditions by a comma"):
        parse_rule(f"ill <- dose > 300 {word} fever", features, ["ill"])
