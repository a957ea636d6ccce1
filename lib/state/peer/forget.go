package peer

import (
	"io"
	"os"
	"strings"

	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
)

// lettersFile has the IDs of the letters of a host that came, a line each.
const lettersFile = "letters"

var hostKey = lazyregexp.New(`^U[A-Z2-7]{55}$`)

// forgotten returns the path of what stays of a host that was forgotten.
func (h Hosts) forgotten(key string, elem ...string) string {
	return h.state.Path(append([]string{"relay", "forgotten", key}, elem...)...)
}

// Letters returns where the IDs of a host's letters are: the file that grows, and that of the
// letters that came before the host was forgotten.
func (h Hosts) Letters(host Host) (path, before string) {
	return h.Path(host.Name, lettersFile), h.forgotten(host.Key, lettersFile)
}

// Forget removes what is known of a host. What guards against replays stays under its key: the
// hub has its last letters, and could give them once more when the host comes back. No relay
// runs meanwhile. One that was interrupted goes on when it is asked for again.
func (h Hosts) Forget(host Host) error {
	if hostKey().MatchString(host.Key) {
		stays := Host{Key: host.Key, Clock: host.Clock, Latest: host.Latest}
		err := h.write(h.forgotten(host.Key, hostFile), stays, atomicfile.Synced)
		if err == nil {
			err = h.keepLetters(host)
		}
		if err != nil {
			return err
		}
	}
	return os.RemoveAll(h.Path(host.Name))
}

// keepLetters adds the IDs of a host's letters to those from before. An ID may stand there twice.
func (h Hosts) keepLetters(host Host) error {
	path, before := h.Letters(host)
	ids, err := atomicfile.IfExists(atomicfile.Open(path))
	if err != nil || ids == nil {
		return err
	}
	defer ids.Close()
	all, err := atomicfile.OpenAppend(before)
	if err != nil {
		return err
	}
	defer all.Close()
	if _, err := io.Copy(all, io.MultiReader(strings.NewReader("\n"), ids)); err != nil { // behind a line that a kill has torn
		return atomicfile.Error("write", before, err)
	}
	return atomicfile.Error("write", before, all.Sync())
}

// Recall returns what stays of a host that was forgotten: when its newest messages were written.
func (h Hosts) Recall(key string) (host Host, err error) {
	err = readIfExists(h.forgotten(key, hostFile), &host)
	return host, err
}
