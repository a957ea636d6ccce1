package hookfile

import (
	"os"
	"slices"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/conversation"
)

func TestTold(t *testing.T) {
	root := t.TempDir()
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	tell := func(l Line) {
		t.Helper()
		at = at.Add(time.Second)
		l.Time = at
		testenv.NoError(t, Append(root, "cursor", "s-1", l))
	}
	tell(Line{Kind: conversation.Prompt, CWD: "/work", Text: "look\nhere", Key: "a"})
	tell(Line{Kind: conversation.Prompt, CWD: "/work", Text: "look\nhere", Key: "a"}) // the hook is wired twice
	f, err := os.OpenFile(Path(root, "cursor", "s-1"), os.O_APPEND|os.O_WRONLY, 0)
	testenv.NoError(t, err)
	f.WriteString(`{"kind":"prompt","text":"torn`)
	f.Close()
	tell(Line{Kind: conversation.Call, Tool: "Shell", Text: "ls", Result: "main.go"})
	tell(Line{Kind: conversation.Answer, Text: "There."})
	at = at.Add(time.Minute)
	tell(Line{Kind: conversation.Prompt, Text: "look\nhere", Key: "a"}) // the person repeats it

	r := Reader{Agent: "cursor"}
	var files []conversation.File
	for _, store := range r.Stores(root) {
		testenv.NoError(t, r.Find(store, func(f conversation.File) { files = append(files, f) }))
	}
	if len(files) != 1 || files[0].ID != "s-1" || files[0].Client != "cursor" {
		t.Fatalf("%+v", files)
	}
	m, err := r.Metadata(files[0])
	if err != nil || m.CWD != "/work" || m.Prompt != "look here" || !m.Last.Equal(at) {
		t.Errorf("%+v, %v", m, err)
	}
	var said []string
	next, err := r.Read(files[0], conversation.Options{}, func(e conversation.Entry) bool {
		said = append(said, string(e.Kind)+" "+e.Tool+" "+e.Text)
		return true
	})
	if want := []string{"prompt  look\nhere", "call Shell ls", "result Shell main.go", "answer  There.", "prompt  look\nhere"}; err != nil || next != files[0].Size || !slices.Equal(said, want) {
		t.Errorf("%q up to %d of %d, %v", said, next, files[0].Size, err)
	}
	for _, agent := range []string{"", ".", "..", "../x", "a/b", ".hidden", "a\x00"} {
		if Path(root, agent, "s") != "" || Append(root, agent, "s", Line{}) == nil {
			t.Errorf("%q is taken for the name of an agent", agent)
		}
	}
	if got := Agents(root); !slices.Equal(got, []string{"cursor"}) {
		t.Errorf("%q", got)
	}
	if err := Remove(root, "cursor", "s-1"); err != nil || len(Agents(root)) != 1 {
		t.Error(err)
	}
	if _, err := os.Stat(files[0].Path); err == nil {
		t.Error("it is still there")
	}
}
