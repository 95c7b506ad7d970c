// The icons of the studio, all from one set; decorative unless labelled by their button.
import {
  Activity, ArrowRight, Ban, Bug, Check, ChevronDown, ChevronLeft, ChevronRight, CircleAlert, CircleCheck, CircleDashed, CircleDot, CircleHelp, CirclePause, CircleSlash, CircleX, ClipboardList,
  Clock, Code, Command, Copy, Diamond, Download, ExternalLink, FileText, FlaskConical, GitBranch, GitCompareArrows, Hourglass, House, Inbox, Keyboard, Layers, Maximize, Merge, Minus, Monitor,
  Moon, OctagonX, PanelRight, Pause, Pencil, Play, Pin, Plug, Plus, RefreshCw, Repeat, RotateCcw, Rows3, Save, Search, Share2, ShieldCheck, Sigma, SkipForward, Square, Sun, Timer, Trash2, TriangleAlert,
  Undo2, Redo2, UserRound, Workflow, X, ZoomIn, ZoomOut,
} from "lucide-react";

const ICONS = {
  activity: Activity, arrow: ArrowRight, ban: Ban, bug: Bug, check: Check, down: ChevronDown, left: ChevronLeft, right: ChevronRight, alert: CircleAlert, done: CircleCheck, idle: CircleDashed,
  dot: CircleDot, help: CircleHelp, paused: CirclePause, skipped: CircleSlash, failed: CircleX, tasks: ClipboardList, clock: Clock, code: Code, command: Command, copy: Copy, choice: Diamond,
  download: Download, open: ExternalLink, document: FileText, playground: FlaskConical, branch: GitBranch, compare: GitCompareArrows, hourglass: Hourglass, home: House, inbox: Inbox,
  keyboard: Keyboard, layers: Layers, fit: Maximize, merge: Merge, minus: Minus, system: Monitor, dark: Moon, stopped: OctagonX, panel: PanelRight, pause: Pause, edit: Pencil, play: Play,
  call: Plug, pin: Pin, plus: Plus, refresh: RefreshCw, repeat: Repeat, retry: RotateCcw, rows: Rows3, save: Save, search: Search, share: Share2, approval: ShieldCheck, compute: Sigma, step: SkipForward,
  stop: Square, light: Sun, timer: Timer, trash: Trash2, warning: TriangleAlert, undo: Undo2, redo: Redo2, person: UserRound, workflow: Workflow, close: X, in: ZoomIn, out: ZoomOut,
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  const Shown = ICONS[name];
  return <Shown size={size} strokeWidth={1.75} aria-hidden="true" focusable="false" className="icon-svg" />;
}
