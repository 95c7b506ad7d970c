// Where the page begins.
import { createRoot } from "react-dom/client";
import { takeFromAddress } from "./api/token";
import { App } from "./app";
import "./style/base.css";
import "./style/graph.css";
import "./style/run.css";
import "./style/edit.css";

const root = document.getElementById("root");
// The page asks for nothing before it has its key.
void takeFromAddress().then(() => root && createRoot(root).render(<App />));
