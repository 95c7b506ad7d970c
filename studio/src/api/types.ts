// The types of the HTTP API, with the API's own names.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Schema = { [key: string]: Json };

export type About = { version: string; documents: boolean; writable: boolean; toolsets: string[]; /** Every status that a run can have. */ statuses: RunStatus[] };

export type Tool = {
  name: string;
  title?: string;
  description?: string;
  input_schema: Schema;
  output_schema?: Schema;
  source: "document" | "library";
  document?: string;
};

/** Something that a document can call. */
export type CallableRow = { name: string; kind: string; server: string; tool: string; asks: boolean; title?: string; description?: string };

export type DocumentRow = { id: string; name: string; path: string; format: string; writable: boolean; hash: string };
export type DocumentText = DocumentRow & { text: string };

export type NodeKind =
  | "entry" | "call" | "compute" | "choose" | "wait" | "ask" | "exit"
  | "prompt" | "decision" | "terminal" | "hub";

export type GraphNode = {
  id: string;
  kind: NodeKind;
  label: string;
  detail?: string;
  notes: string[];
  tool?: string;
  layer?: number;
  line?: number;
  column?: number;
  shape?: string;
  /** The amendment that added it, counted from 1. */
  patch?: number;
};

export type GraphEdge = {
  id: string;
  from: string;
  to: string;
  label?: string;
  kind: "default" | "error" | "labelled";
};

export type Graph = { name: string; direction: "TB" | "LR"; nodes: GraphNode[]; edges: GraphEdge[] };

export type Flaw = {
  severity: "error" | "warning";
  code: string;
  message: string;
  suggestion?: string;
  line: number;
  column: number;
  end_line?: number;
  end_column?: number;
  node?: string;
  workflow?: string;
};

export type CheckResult = {
  format: string;
  flaws: Flaw[];
  workflows: { name: string; input_schema: Schema; graph: Graph }[];
  procedure?: Graph;
};

export type Edit =
  | { op: "add_node"; after?: string; node: { id: string; kind: string; [key: string]: Json } }
  | { op: "remove_node"; id: string }
  | { op: "rename_node"; id: string; to: string }
  | { op: "connect"; from: string; to: string; label?: string }
  | { op: "disconnect"; from: string; to: string }
  | { op: "set_field"; id: string; path: (string | number)[]; value: Json };

export type EditResult = { text: string; patches: { from: number; to: number; insert: string }[]; flaws: Flaw[] };

export type EvaluationResult = { value?: Json; undefined?: boolean; tree?: EvaluationTree; error?: { code: string; message: string; position?: number } };

export type RunStatus = string;

export type RunRow = {
  run_id: string;
  status: RunStatus;
  workflow: string;
  session_id?: string | null;
  started_ms: number;
  updated_ms: number;
  events: number;
  bytes: number;
  /** Whether a live process drives it: a run that is `running` without one was interrupted. */
  driven: boolean;
  kind?: "graph" | "guided";
  /** The number of steps that failed without being handled; absent if the journal is too large to look. */
  failures?: number;
  input_preview?: string;
  outcome_preview?: string;
  /** When it started by itself: a fork when it was forked. */
  own_started_ms?: number;
};

export type FailedStep = { step: number; node?: string | null; item?: number | null; code: string; message: string };
/** Who rejected a run, where and why. */
export type Rejection = { node?: string | null; by?: string; via?: string | null; why?: string | null; at_ms?: number };

export type Question = {
  checkpoint_id: string;
  message?: string;
  options: string[];
  node?: string;
  run_id?: string;
  workflow?: string;
  waits_since_ms?: number;
  call?: ProposedCall;
  requested?: { workflow: string; by: string; session_id?: string; owner?: string; intent?: string; parent_run_id?: string };
  done?: { steps: number; calls: number; latest: { node: string; tool: string; arguments: string; status: string }[] };
  [key: string]: Json | undefined;
};

/** The call that waits for approval, as it will be made. */
export type ProposedCall = {
  tool: string;
  server: string;
  name: string;
  arguments?: Json;
  /** Instead of arguments: a batch of calls, one per item. */
  items?: { count: number; recorded: number; calls: Json[] };
  annotations?: { [hint: string]: boolean };
  /** Positions of values that are truncated. */
  cut?: string[];
  editable: boolean;
  /** Positions of values that contain a secret. */
  fixed?: string[];
  file?: { path: string; change: string; from?: string; diff?: string; note?: string; cut?: boolean };
};

/** `when` is JSONata as text, or a JSON Logic rule. */
/** A node before which a run halts, or whose output is pinned: then it is not run. */
export type Breakpoint = { node: string; when?: Json; output?: Json };

/** A version of a saved workflow; a text that is not valid any more has no graph. */
export type WorkflowVersion = { version: number; description: string; by: string; at_ms: number; format: string; text: string; graph?: Graph };

export type Run = {
  run_id: string;
  status: RunStatus;
  workflow: string;
  session_id?: string | null;
  started_ms: number;
  updated_ms: number;
  events: number;
  steps: number;
  questions: Question[];
  outcome?: Json;
  input?: Json;
  forked_from?: { run_id: string; seq: number } | null;
  parent?: { run_id: string; step: number } | null;
  /** Whether it halts before every step. */
  stepping?: boolean;
  kind?: "graph" | "guided";
  breakpoints?: Breakpoint[];
  budget?: Json;
  driven?: boolean;
  /** Servers that are being started now. */
  starting?: { server: string; elapsed_ms: number }[];
  failures?: { count: number; steps: FailedStep[] };
  rejection?: Rejection;
  own_started_ms?: number;
};

/** The statuses of the API, and those that the page derives: rejected, stopped (with its run), asking (a person), starting (its server). */
export type NodeStatus = "starting" | "idle" | "running" | "succeeded" | "failed" | "skipped" | "waiting" | "retrying" | "rejected" | "stopped" | "asking";

export type RunSnapshot = {
  seq: number;
  at_ms: number;
  event: string;
  status: RunStatus;
  nodes: { [id: string]: { status: NodeStatus; visits: number } };
  taken: [string, string][];
  questions: Question[];
  scope_keys: string[];
  rejection?: Rejection;
};

/** An event of a run. `status` is that of the node, or of the run if the event is about the run. */
export type RunEvent = {
  seq: number;
  at_ms: number;
  event: string;
  step?: number;
  node?: string;
  label?: string;
  status?: RunStatus;
  attempt?: number;
  item?: number;
  by?: string;
  /** The channel an answer came through; `agent` and `http` are relayed. */
  via?: string;
  message?: string;
};

/** Step, node index, status code (0 open, 1 succeeded, 2 failed, 3 waiting), started, duration, attempts, item. */
export type TimelineStep = [number, number, number, number, number | null, number, number?];
export type Timeline = { steps: TimelineStep[]; nodes: string[]; next?: number | null };

export type EvaluationTree = { op?: string; text?: string; value?: Json; undefined?: boolean; children?: EvaluationTree[] };
export type EvaluatedRule = { index: number; rule: Json; language: string; label?: string; held: boolean; tree: EvaluationTree };
export type BranchExplanation = { rules: EvaluatedRule[]; picked: string };

/** The wire message; rebuilt from the journal if it was not kept. */
export type WireMessage = { kept: boolean; message: Json };

export type StepView = {
  step: number;
  node: string;
  kind: NodeKind;
  tool?: string;
  status: string;
  attempts: number;
  started_ms: number;
  duration_ms?: number | null;
  input?: Json;
  expression?: Json;
  output?: Json;
  label?: string;
  error?: Json;
  retried?: Json[];
  may_have_happened?: boolean;
  why?: BranchExplanation;
  request?: WireMessage;
  response?: WireMessage;
  stderr?: string[];
  seqs?: { started?: number | null; finished?: number | null };
};

export type ComparedStep = { step: number; status: string; duration_ms?: number; label?: string };
/** What differs in a step, and where. */
export type StepDifference = { part: string; places: { at: string; first?: Json; second?: Json }[] };
export type StepPair = { node: string; visit: number; item?: number; same: boolean; left?: ComparedStep; right?: ComparedStep; parts?: StepDifference[] };
export type Comparison = {
  same: boolean;
  input: StepDifference["places"];
  outcome: StepDifference["places"];
  steps: StepPair[];
  more: boolean;
};

/** An evaluated rule for a call; `holds` is null if an operand is missing. */
export type CallRuleResult = {
  rule: string;
  source: Json;
  holds: boolean | null;
  operands: { what: string; value: Json }[];
  message?: string;
  missing?: string[];
};

export type SopSession = {
  procedure: Graph;
  here?: string | null;
  path: { node: string; seq: number; at_ms: number; by_itself?: boolean; against?: string; reason?: string; evidence?: Json; slots?: Json }[];
  todos: Json[];
  /** `node` is the current node, `target` the requested one. */
  refused: { seq: number; what: string; target?: string; node?: string | null; message: string; rules?: CallRuleResult[] }[];
  calls: { seq: number; tool: string; node?: string | null; ok?: boolean | null; rules?: CallRuleResult[] }[];
  slots: Json;
};

/** The call of a node in a changed plan; expressions are not evaluated yet. */
export type PlannedCall = { node: string; tool: string; server: string; name: string; arguments: Json; computed: boolean; asks: boolean; annotations?: { [hint: string]: boolean } };

export type Amendments = {
  amendments: { seq: number; by: string; added: string[]; removed?: string[]; changed?: string[]; calls?: PlannedCall[] }[];
  /** The change that a question waits for. */
  proposed?: { checkpoint_id: string; seq: number; [key: string]: Json };
};
