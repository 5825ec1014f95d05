"""Reproduce a figure of the paper.

`gim reproduce fig3 --scale paper` runs it whole and writes a report page. The same from Python,
as a rehearsal with two short runs:
"""

# %%
from gim.experiments import execute
from gim.experiments.catalogue import chosen
from gim.experiments.cells import ResultsByCell
from gim.experiments.report.static import draw
from gim.experiments.scale import SCALES

(figure3,) = chosen(["fig3"])
smoke = SCALES["smoke"]
results = execute(figure3.trials(smoke), engine="serial")
artefact = figure3.analyse(ResultsByCell(results, smoke))
print(artefact.title)
print(artefact.statement)

# %%
draw(artefact.figures[1])
