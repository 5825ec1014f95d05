"""Three agents on RiverSwim: `python examples/three_agents.py`.

An agent must swim against the current to find the large reward; Q-learning settles for the small
one.
"""

import gim

mdp = gim.make("riverswim")
rows = []
for agent in (gim.Optimal(), gim.QLearning(), gim.Random()):
    runs = gim.run(agent, mdp, episodes=5000, seeds=range(20))
    steps = sum(run.steps for run in runs)
    seconds = sum(run.seconds["interacting"] for run in runs)
    rows.append(
        [
            str(agent),
            f"{runs.score:.3f}",
            f"{runs.returns.mean():,.0f}",
            f"{runs.returns[:, -500:].mean():,.0f}",
            f"{steps / seconds / 1e6:.1f}",
        ]
    )

print(f"RiverSwim: {mdp.S} states, {mdp.A} actions, H = {mdp.horizon}; 5,000 episodes, 20 seeds")
best, worst = mdp.optimal_return(), mdp.random_return()
print(f"Exact optimum: {best:,.0f} an episode; random: {worst:,.0f}\n")
for row in [["agent", "score", "mean return", "last 500", "million steps/s"], *rows]:
    print(f"{row[0]:12}" + "".join(f"{cell:>17}" for cell in row[1:]))
print("\nThe optimal policy, by the step from which an action is taken:\n")
print(gim.run("optimal", mdp, episodes=1).policy_table())
