package contract

// Field is something that a client says in a hook's input.
type Field int

// The fields that gt uses.
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
	ParentAgentID // the session, where SessionID is the subagent's own id
	LastAnswer
	Background    // what still runs at the end of a turn, as JSON
	ContextTokens // how much of a conversation that is resumed the model is given
	Crons         // what will wake the session later, as JSON
	Mode
	Prompt      // what the person says
	ToolInput   // what a tool was called with, as JSON
	ToolOutput  // what it gave, as JSON
	Notice      // what a notification is about
	Failure     // why a turn failed, or a tool
	Interrupted // whether the person stopped a tool
	Moment      // when the event was, as a number or a text
	Roots       // the folders that are worked in, where CWD is a tool's
	fieldsEnd
)

// NumFields is how many there are.
const NumFields = int(fieldsEnd)

// FieldName is what a client calls a field.
type FieldName struct {
	Name  string
	Field Field
}

// EventName is what a client calls an event, and Kind is Claude Code's word for it.
type EventName struct{ Name, Kind string }

// ImpliedEvent is the event that an input with this key is of, where it does not
// say its event.
type ImpliedEvent struct{ Key, Kind string }

// NoticeName is what a client calls a kind of notification, and Notice what it says.
type NoticeName struct {
	Name   string
	Notice NoticeKind
}

// NoticeKind is what a notification says of a session.
type NoticeKind int

// The notifications that tell what a session does.
const (
	NoNotice       NoticeKind = iota
	AsksPermission            // the person is asked for permission
	AsksQuestion              // the person is asked something else
	WaitsForPrompt            // its turn is over, and has been for a while
)

// Prompting is a tool by which the agent itself asks the person, so that the client's
// prompt is no question of permission, or not of one to run the tool.
type Prompting struct {
	Tool     string
	Question bool // it asks something else than for permission
}
