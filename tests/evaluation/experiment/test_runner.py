"""Real processes: limits, crashes, kills at random moments, two runs at once."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from polyrule.errors import OptionError
from polyrule.evaluation.experiment import Results, RowStore, StoreError, parse_spec, run_experiment
from polyrule.evaluation.experiment.one_run import plan_runs

LIMITS = "[limits]\nseconds = 300\nmemory_mb = 2000\n"


def rows_by_learner(directory):
    return {row["learner"]: row for row in RowStore(directory).rows()}


def test_every_way_to_fail_becomes_a_row(tmp_path, experiment_text):
    learners = ["Good", "Failing", "Exiting", "Crashing", "Vanishing", "Importing", "BadPrediction"]
    spec = parse_spec(experiment_text(learners, extra=f"workers = 2\n{LIMITS}"))
    reports = []
    run_experiment(spec, tmp_path / "out", progress=reports.append)
    rows = rows_by_learner(tmp_path / "out")
    assert rows["Good"]["status"] == "ok"
    assert rows["Good"]["micro_f1"] >= 0
    assert (rows["Failing"]["status"], rows["Failing"]["error"]) == ("failed", "ValueError: no rules today")
    assert rows["Exiting"]["status"] == "failed"
    assert (rows["Crashing"]["status"], rows["Crashing"]["error"]) == ("crashed", "the process was ended by SIGSEGV")
    assert (rows["Vanishing"]["status"], rows["Vanishing"]["error"]) == (
        "crashed",
        "the process ended with exit code 7",
    )
    assert rows["Importing"]["status"] == "missing"
    assert rows["BadPrediction"]["status"] == "failed"
    assert "Y_pred may hold only 0" in rows["BadPrediction"]["error"]
    assert [report.done for report in reports] == list(range(8))
    assert all(report.total == 7 for report in reports)


def test_a_slow_run_is_ended(tmp_path, experiment_text):
    run_experiment(parse_spec(experiment_text(["Slow"], extra="[limits]\nseconds = 1\n")), tmp_path / "out")
    row = rows_by_learner(tmp_path / "out")["Slow"]
    assert (row["status"], row["error"]) == ("timeout", "more than 1 s")


@pytest.mark.skipif(sys.platform != "linux", reason="memory of another process is read from /proc")
def test_a_hungry_run_is_ended(tmp_path, experiment_text):
    limits = "[limits]\nseconds = 300\nmemory_mb = 400\n"
    run_experiment(parse_spec(experiment_text(["Hungry", "Good"], extra=limits)), tmp_path / "out")
    rows = rows_by_learner(tmp_path / "out")
    assert (rows["Hungry"]["status"], rows["Hungry"]["error"]) == ("memory", "more than 400 MB")
    assert rows["Hungry"]["peak_memory_mb"] > 400
    assert rows["Good"]["status"] == "ok"


@pytest.mark.skipif(sys.platform != "linux", reason="processor time of another process is read from /proc")
def test_processor_time_has_its_own_limit(tmp_path, experiment_text):
    spec = parse_spec(experiment_text(["Busy"], extra="[limits]\nseconds = 300\ncpu_seconds = 1\n"))
    run_experiment(spec, tmp_path / "out")
    row = rows_by_learner(tmp_path / "out")["Busy"]
    assert (row["status"], row["error"]) == ("timeout", "more than 1 CPU s")


def test_nothing_is_done_twice_and_failures_only_on_request(tmp_path, experiment_text):
    spec = parse_spec(experiment_text(["Good", "Failing"], extra=LIMITS))
    done = []
    for retry in (False, False, True):
        reports = []
        run_experiment(spec, tmp_path / "out", retry=retry, progress=reports.append)
        done.append([report.row["learner"] for report in reports if report.row])
    assert done == [["Good", "Failing"], [], ["Failing"]]


def test_a_changed_parameter_is_run_and_the_old_row_left_out_of_the_results(tmp_path, experiment_text):
    text = experiment_text(["Good:0.0"], extra=LIMITS)
    run_experiment(parse_spec(text), tmp_path / "out")
    changed = parse_spec(text.replace("seconds = 0.0", "seconds = 0.01"))
    run_experiment(changed, tmp_path / "out")
    assert len(RowStore(tmp_path / "out").rows()) == 2
    assert len(Results.load(changed, tmp_path / "out").rows) == 1


def test_only_selects_runs(tmp_path, experiment_text):
    spec = parse_spec(experiment_text(["Good", "Failing"], data=2, extra=LIMITS))
    run_experiment(spec, tmp_path / "out", only=lambda run: run.data.name == "d1" and run.learner.name == "Good")
    results = Results.load(spec, tmp_path / "out")
    assert [(row["data"], row["learner"]) for row in results.rows] == [("d1", "Good")]
    assert results.missing == 3


def test_fewer_than_one_worker_is_refused(tmp_path, experiment_text):
    for workers in (0, -1):  # the latter waited for ever
        with pytest.raises(OptionError, match="workers must be at least 1"):
            run_experiment(parse_spec(experiment_text(["Good"])), tmp_path / "out", workers=workers)


def start(spec_file, output, **environment):
    command = [sys.executable, "-m", "polyrule", "experiment", str(spec_file), "-o", str(output)]
    return subprocess.Popen(
        command,
        env={**os.environ, **{key: str(value) for key, value in environment.items()}},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def children_of(pid):
    output = subprocess.run(["ps", "-eo", "pid=,pgid="], capture_output=True, text=True, check=True).stdout
    pairs = [line.split() for line in output.splitlines()]
    return [int(child) for child, group in pairs if int(group) == pid and int(child) != pid]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_killed_at_random_moments_and_resumed_gives_the_same_rows(tmp_path, experiment_text):
    learners = [f"Counting:{seconds}" for seconds in ("0.01", "0.02", "0.03", "0.04")]
    text = experiment_text(learners, data=3, extra=f"workers = 2\n{LIMITS}")
    spec_file = tmp_path / "tiny.toml"
    spec_file.write_text(text)
    counter, output = tmp_path / "count", tmp_path / "out"
    counter.write_text("")
    total = len(plan_runs(parse_spec(text)))
    generator = random.Random(8)
    kills, kept = 0, {}
    while True:
        process = start(spec_file, output, COUNT_FILE=counter)
        line = process.stderr.readline()  # "… of … runs are stored": from here on, any moment may be the last
        assert "runs are stored" in line, line
        with pytest.raises(StoreError, match="another experiment is running"):
            run_experiment(parse_spec(text), output)
        if kills < 2:
            time.sleep(generator.uniform(0.0, 2.2))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
        process.communicate()
        stored = {row["key"]: row for row in RowStore(output).rows()}
        for key, row in kept.items():
            assert stored[key] == row, "a stored row was lost or made again"
        kept = stored
        if process.returncode == 0:
            break
    assert kills > 0
    assert len(kept) == total
    assert {row["status"] for row in kept.values()} == {"ok"}
    for key, row in kept.items():
        assert json.loads((output / "rows" / f"{key}.json").read_text()) == row
    # at most the two runs that were under way at each kill were done again
    assert total <= len(counter.read_text()) <= total + 2 * kills
    run_experiment(parse_spec(text), tmp_path / "fresh")
    fresh = {row["key"]: row["counts"] for row in RowStore(tmp_path / "fresh").rows()}
    assert {key: row["counts"] for key, row in kept.items()} == fresh


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_a_second_process_is_refused_and_children_end_when_the_first_is_killed(tmp_path, experiment_text):
    spec_file = tmp_path / "tiny.toml"
    spec_file.write_text(experiment_text(["Slow", "Deaf"], extra="workers = 2\n[limits]\nseconds = 300\n"))
    marker = tmp_path / "started"
    marker.write_text("")
    process = start(spec_file, tmp_path / "out", COUNT_FILE=marker)
    assert "runs are stored" in process.stderr.readline()  # from here on the directory is its own
    second = start(spec_file, tmp_path / "out")
    _, message = second.communicate()
    assert second.returncode == 1
    assert message.startswith("Error: another experiment is running in")
    assert "Traceback" not in message
    deadline = time.monotonic() + 120
    while len(marker.read_text()) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(children_of(process.pid)) >= 2
    process.kill()
    process.communicate()
    while children_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not children_of(process.pid)
