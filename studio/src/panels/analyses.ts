// Every analysis with all its tables.
import { api } from "../api";
import { element, fill } from "../dom";
import { Panel, command } from "./panel";
import { failure, showReport, waiting } from "./reports";

export const analyses: Panel = {
  id: "analysis",
  title: "Analyses",
  async create(studio, host) {
    const list = await api.analyses(studio.trace);
    const wanted = studio.panel.split(":")[1];
    const choice = element("select", { "aria-label": "Analysis" },
      ...list.map((one) => element("option", { value: one.name }, `${one.name.replace(/_/g, " ")} \u2013 ${one.doc}`)));
    const answer = element("div");
    choice.value = wanted && list.some((one) => one.name === wanted) ? wanted : "kernels";
    let asked = "";
    const show = async (): Promise<void> => {
      const name = (asked = choice.value);
      fill(answer, waiting("Analyzing\u2026"));
      try {
        const reports = await api.analysis(studio.trace, name);
        if (asked === name)
          fill(answer, ...reports.map((report) => showReport(studio, report, command(studio, "analyze", name))));
      } catch (error) {
        if (asked === name) fill(answer, failure(error));
      }
    };
    choice.addEventListener("change", () => {
      studio.panel = `analysis:${choice.value}`;
      void show();
    });
    fill(host, choice, answer);
    await show();
  },
};
