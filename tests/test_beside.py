"""A test beside every module: a file of the same name, examples in the module itself, or a test that imports it.

What remains is reached only through something larger; `THROUGH` says through which tests.
"""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "polyrule"

# Tests that run a whole command, page, fit or file -> the modules that they test through it.
THROUGH = {
    "cli/test_app.py": "cli/completion cli/output",
    "cli/test_change.py": "cli/export cli/head cli/measure",
    "cli/test_errors.py": "cli/arguments",
    "cli/test_inspection.py": "cli/data cli/evaluate cli/explain",
    "cli/test_predict.py": "cli/report",
    "conditions/test_targets.py": "conditions/base",
    "data/test_reading.py": "data/assemble data/roles data/formats/blocks",
    "decisions/test_guarantees.py": "cli/calibrate model/guarantee",
    "ensemble/test_tools.py": "ensemble/refit model/rule_model",
    "estimators/test_rule_list.py": "estimators/base estimators/lists",
    "evaluation/experiment/test_results.py": "evaluation/experiment/writer",
    "evaluation/test_cli_experiment.py": "cli/experiment",
    "heads/test_search.py": "heads/branch_and_bound heads/enumeration heads/example_bounds heads/ratio_search",
    "search/test_ruling_out.py": "search/scoring",
    "measures/test_proofs.py": "measures/proofs/normal_form",
    "export/test_languages.py": "export/c export/javascript export/language export/python export/sql",
    "export/test_onnx.py": "export/graph",
    "model/test_date_counterfactual.py": "model/date_regions",
    "model/test_files.py": "model/schema",
    "model/test_counterfactual.py": "model/reasons",
    "report/test_summary.py": "report/model_summary",
    "search/counted/test_engine.py": "search/counted/counting search/counted/queries search/counted/scoring"
    " search/counted/state",
    "store/test_packing.py": "cli/pack",
    "store/test_sample.py": "estimators/sampling",
    "studio/test_command.py": "cli/studio",
    "studio/test_server.py": "studio/jobs studio/intake studio/queries",
    "studio/test_session.py": "studio/comparing studio/script",
    "watch/test_monitor.py": "cli/watch watch/page watch/summary",
    "verification/test_rule_list.py": "verification/inputs verification/refit verification/replay"
    " verification/selection",
}


def imported_by_tests() -> set[str]:
    """Modules that some test imports, or names in a string such as ``polyrule.data.sources.SIZE``."""
    found = set()
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Constant) and str(node.value).startswith("polyrule.") and path != Path(__file__):
                module = str(node.value).rpartition(".")[0]
                found |= {module, module.rpartition(".")[0]}
    return found


def modules_without_a_test() -> set[str]:
    imported, found = imported_by_tests(), set()
    for path in SOURCE.rglob("*.py"):
        module = path.relative_to(SOURCE).with_suffix("")
        beside = TESTS / module.parent / f"test_{module.name}.py"
        dotted = f"polyrule.{module.as_posix().replace('/', '.')}"
        told = beside.exists() or dotted in imported or ">>> " in path.read_text(encoding="utf-8")
        if not told and not module.name.startswith("__"):
            found.add(module.as_posix())
    return found


def test_every_module_has_a_test() -> None:
    listed = [module for modules in THROUGH.values() for module in modules.split()]
    assert len(listed) == len(set(listed))
    assert sorted(modules_without_a_test() - set(listed)) == []


def test_what_is_listed_exists() -> None:
    modules = [f"{module}.py" for modules in THROUGH.values() for module in modules.split()]
    assert [name for name in modules if not (SOURCE / name).exists()] == []
    assert [name for name in THROUGH if not (TESTS / name).exists()] == []
