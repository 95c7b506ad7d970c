// The runs, newest first.
import { api } from "../api/client";
import { Link, to } from "../router";
import { Show, useLoad } from "../shell/load";
import { moment } from "../shell/words";
import { StatusWord } from "../run/status";

export function Runs() {
  const runs = useLoad(() => api.runs({ most: 100 }), []);
  return (
    <section className="page">
      <h1>Runs</h1>
      <Show from={runs}>
        {({ runs }) => (
          <table>
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Workflow</th>
                <th scope="col">Status</th>
                <th scope="col">Begun</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <tr key={run.run_id}>
                  <td>
                    <Link href={to("runs", run.run_id)}>
                      <code>{run.run_id}</code>
                    </Link>
                  </td>
                  <td>{run.workflow}</td>
                  <td>
                    <StatusWord status={run.status} />
                  </td>
                  <td>{moment(run.started_ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Show>
    </section>
  );
}
