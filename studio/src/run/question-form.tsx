// Questions on the run page are answered as in the inbox.
export { QuestionForm } from "../inbox/question-form";
