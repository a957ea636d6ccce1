package contract

type Field int

const (
	NoField Field = iota
	Event
	SessionID
	Transcript
	CWD
	Source
	Trigger
	Reason
	ToolName
	AgentID
	ParentAgentID // the session, if SessionID is the subagent's own id
	LastAnswer
	Background    // what still runs at the end of a turn, as JSON
	ContextTokens // how many tokens of a resumed conversation the model gets
	Crons         // what will wake the session later, as JSON
	Mode
	Prompt      // the person's prompt
	ToolInput   // a tool's arguments, as JSON
	ToolOutput  // a tool's result, as JSON
	Notice      // the kind of a notification
	Failure     // why a turn or a tool failed
	Interrupted // whether the person stopped a tool
	Moment      // the event's time, as a number or a text
	Roots       // the working folders, if CWD is a tool's
	Headless    // whether no person sees the run
	FullyIdle   // at the end of a turn: false if something runs in the background
	fieldsEnd
)

const NumFields = int(fieldsEnd)

// FieldName is a client's name for a field.
type FieldName struct {
	Name  string
	Field Field
}

// EventName is a client's name for an event. Kind is Claude Code's.
type EventName struct{ Name, Kind string }

// ImpliedEvent is the event of an input that has this key but no event. If its value is
// neither 0 nor empty, the event is Other, unless that is "".
type ImpliedEvent struct{ Key, Kind, Other string }

// NoticeName is a client's name for a kind of notification.
type NoticeName struct {
	Name   string
	Notice NoticeKind
}

// NoticeKind is what a notification means for a session.
type NoticeKind int

const (
	NoNotice       NoticeKind = iota
	AsksPermission            // the person is asked for permission
	AsksQuestion              // the person is asked something else
	WaitsForPrompt            // its turn ended a while ago
)

// Prompting is a tool with which the agent itself asks the person. The client's dialog is
// then not a question for permission to run the tool.
type Prompting struct {
	Tool     string
	Question bool // it does not ask for permission, but something else
}
