// Where the page begins.
import { createRoot } from "react-dom/client";
import { takeFromAddress } from "./api/token";
import { App } from "./app";
import "./style/base.css";
import "./style/graph.css";
import "./style/run.css";
import "./style/edit.css";

takeFromAddress();
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
