"""Files counted by Ray's workers: the same counts to the last row, though a worker is lost."""

from __future__ import annotations

import os

import numpy as np
import pytest

import gim
from gim.cli import main
from gim.logs import cluster, reading
from tests.test_log_sources import TABLE, WHAT, arrow, assert_same

pytest.importorskip("ray")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def workers():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def lake(tmp_path):
    """Three files, each with whole weeks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table, weeks = arrow(), sorted(set(TABLE["week"]))
    for k in range(3):
        keep = pc.is_in(table["week"], value_set=pa.array(weeks[k::3]))
        parquet.write_table(table.filter(keep), tmp_path / f"{k}.parquet")
    return tmp_path


def dies_once(path, marker):
    """Kills its worker the first time."""
    if not os.path.exists(marker):
        with open(marker, "w"):
            pass
        os._exit(1)
    return path


def counts_at_the_second_try(path, columns, facts):
    """Counts a file; the first that counts the last file dies on the way, with half of it done."""
    part = count(path, columns, facts)
    return dies_once(part, f"{path}.lost") if path.endswith("2.parquet") else part


count = reading._count


@pytest.mark.processes
@pytest.mark.filterwarnings("ignore")
def test_a_lost_worker_s_files_are_counted_again(workers, lake, monkeypatch, capsys):
    one = gim.from_log(lake, keep="counts", **WHAT)
    monkeypatch.setattr(reading, "_count", counts_at_the_second_try)
    many = gim.from_log(lake, engine="ray", **WHAT)
    assert (lake / "2.parquet.lost").exists()
    assert_same(many)
    for x, y in zip([*one.triples, *one.episodes], [*many.triples, *many.episodes], strict=True):
        np.testing.assert_array_equal(x, y)
    words = ["check", str(lake), "--state", "shop,stock", "--action", "order", "--reward", "profit",
             "--episode", "week", "--step", "time"]  # fmt: skip
    said = []
    for more in ("--keep", "counts"), ("--engine", "ray"):
        main([*words, *more])
        out = capsys.readouterr().out  # the cluster speaks of its lost worker, too
        said.append([line for line in out.splitlines() if line.startswith("fact:")])
    assert said[0] == said[1]
    assert said[0]


@pytest.mark.processes
@pytest.mark.filterwarnings("ignore")
def test_workers_count_as_one_process_does(workers, lake, tmp_path):
    one = gim.from_log(lake, keep="counts", **WHAT)
    many = gim.from_log(lake, engine="ray", **WHAT)
    assert_same(many)
    assert (many.states, many.actions, many.variables) == (one.states, one.actions, one.variables)
    for x, y in zip(one.triples, many.triples, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)
    for x, y in zip(one.episodes, many.episodes, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)
    found = cluster.mapped(dies_once, [(k, str(tmp_path / "marker")) for k in range(4)])
    assert found == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"0.parquet has no column 'x'|no column 'x'"):
        gim.from_log(lake, engine="ray", **(WHAT | {"action": "x"}))
    with pytest.raises(ValueError, match="needs episode= or unit="):
        gim.from_log(lake, engine="ray", **(WHAT | {"episode": None}))
    parquet.write_table(parquet.read_table(lake / "0.parquet")[:3], lake / "3.parquet")
    with pytest.raises(ValueError, match=r"stands in .*0.parquet and in .*3.parquet"):
        gim.from_log(lake, engine="ray", strict=False, **WHAT)
    with pytest.raises(ValueError, match="engine = 'spark'"):
        gim.from_log(lake, engine="spark", **WHAT)
