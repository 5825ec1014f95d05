"""Reproduce a figure of the paper.

`gim reproduce fig3 --scale paper` runs it whole and writes a report page. The same from Python,
as a rehearsal with two short runs:
"""

# %%
from gim_lab import execute
from gim_lab.experiments.catalogue import chosen
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.scale import SCALES
from gim_lab.report.static import draw

(figure3,) = chosen(["fig3"])
smoke = SCALES["smoke"]
results = execute(figure3.trials(smoke), engine="serial")
artefact = figure3.analyse(ResultsByCell(results, smoke))
print(artefact.title)
print(artefact.statement)

# %%
draw(artefact.figures[1])
