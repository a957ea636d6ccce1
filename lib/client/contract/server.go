package contract

// SharedServer is a server behind a client that runs the sessions of all the
// client's windows, their hooks and their commands. It began in the environment of
// whichever window was opened first, and outlives them all. So what calls a hook is
// not the client that a person sits in front of, and what it hands down says
// nothing of that.
type SharedServer struct {
	// Program is the name of its process, and of a window's.
	Program string
	// Var is a variable that its commands see.
	Var string
	// Serves reports whether a Program with these arguments is the server, and
	// Shows whether it can be the window of a session that a server runs.
	Serves func(args []string) bool
	Shows  func(args []string) bool
	// Dir returns the folder in which a window with these arguments works that
	// was started in dir.
	Dir func(args []string, dir string) string
	// Account returns the folder in which it keeps what is its own: each has a
	// server of its own.
	Account func(getenv func(string) string) string
}
