// An error boundary: a page that throws shows the error, and the frame stays.
import { Component, type ReactNode } from "react";
import { ErrorMessage } from "./load";

type Props = { /** Another page is tried again. */ of: string; children: ReactNode };
type State = { wrong?: Error; of: string };

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { of: this.props.of };

  static getDerivedStateFromError(wrong: Error): Partial<State> {
    return { wrong };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.of === state.of ? null : { of: props.of, wrong: undefined };
  }

  override render() {
    const { wrong } = this.state;
    if (!wrong) return this.props.children;
    const shown = new Error(`This page cannot be shown: ${wrong.message}`);
    return (
      <div className="page">
        <h1>Something went wrong in the studio</h1>
        <ErrorMessage wrong={shown} again={() => this.setState({ wrong: undefined })} />
      </div>
    );
  }
}
