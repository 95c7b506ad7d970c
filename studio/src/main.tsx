// The entry point of the page.
import { createRoot } from "react-dom/client";
import { takeCredentialFromUrl } from "./api/token";
import { App } from "./app";
import "./style/tokens.css";
import "./style/base.css";
import "./style/components.css";
import "./style/home.css";
import "./style/graph.css";
import "./style/run.css";
import "./style/edit.css";

const root = document.getElementById("root");
// The page sends no request before it has its key.
void takeCredentialFromUrl().then(() => root && createRoot(root).render(<App />));
