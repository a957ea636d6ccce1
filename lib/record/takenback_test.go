package record

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"gt/internal/testenv"
	"gt/lib/conversation"
	"gt/lib/text/redact"
)

// rewinder is a client whose person took back the turns that begin with the prompts of some
// ids. An entry's Request names the prompt of its turn.
type rewinder struct {
	client
	back *[]string
}

func (r rewinder) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return o.From, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 64<<10)) // zeros follow
	if err != nil {
		return o.From, err
	}
	at := int64(0)
	for line := range strings.Lines(strings.TrimRight(string(text), "\x00")) {
		e := conversation.Entry{Kind: conversation.Kind(gjson.Get(line, "kind").Str), Text: gjson.Get(line, "text").Str, Request: gjson.Get(line, "turn").Str,
			Time: epoch.Add(time.Duration(at) * time.Second), Offset: at}
		if e.Kind == conversation.Prompt {
			e.ID = e.Request
		}
		switch gone := slices.Contains(*r.back, e.Request) && !o.TooLongToSearch(f.Path); {
		case gone && e.Kind == conversation.Prompt && o.TakenBack != nil:
			o.TakenBack(e)
		case !gone && at >= o.From:
			each(e)
		}
		at += int64(len(line))
	}
	return at, nil
}

// rewindDesk is a desk whose client is a rewinder.
type rewindDesk struct {
	*desk
	text string
	back []string
}

// sync adds entries of a turn, each a kind and a text, and updates the record. The client's
// file gets the size.
func (d *rewindDesk) sync(size int64, turn string, kindsAndTexts ...string) ID {
	d.t.Helper()
	for i := 0; i < len(kindsAndTexts); i += 2 {
		d.text += `{"turn":"` + turn + `","kind":"` + kindsAndTexts[i] + `","text":"` + kindsAndTexts[i+1] + `"}` + "\n"
	}
	d.write(d.text)
	if size > 0 {
		testenv.NoError(d.t, os.Truncate(d.file, size))
	}
	index, err := d.store.Index()
	testenv.NoError(d.t, err)
	y := Syncer{Store: d.store, Index: index, Redact: redact.NewRedactor(nil), Bulk: true, Now: func() time.Time { return epoch }}
	done, err := y.Sync(rewinder{back: &d.back}, d.conversation())
	testenv.NoError(d.t, err)
	d.verify(done.ID)
	return done.ID
}

func (d *rewindDesk) live(id ID) string {
	d.t.Helper()
	var all []string
	_, err := Reader{}.Read(conversation.File{Path: d.store.File(id)}, conversation.Options{}, func(e conversation.Entry) bool {
		if e.Text != "" {
			all = append(all, e.Text)
		}
		return true
	})
	testenv.NoError(d.t, err)
	return strings.Join(all, "|")
}

func (d *rewindDesk) expect(id ID, want string) {
	d.t.Helper()
	if got := d.live(id); got != want {
		d.t.Errorf("the record gives %q, want %q", got, want)
	}
}

// What was taken back is found in a conversation of any length, for nobody waits for a record.
func TestTakenBackInLongConversation(t *testing.T) {
	const long = 200 << 20
	d := &rewindDesk{desk: newDesk(t)}
	d.sync(0, "a", "prompt", "ask A")
	d.sync(0, "b", "prompt", "ask B")
	d.back = []string{"b"}
	id := d.sync(0, "c", "prompt", "ask C")
	d.expect(id, "ask A|ask C")
	d.back = []string{"b", "d"}
	d.sync(0, "c", "answer", "answer C")
	d.sync(long, "d", "prompt", "ask D") // it was taken back before the record had it
	d.sync(long, "e", "prompt", "ask E")
	d.expect(id, "ask A|ask C|answer C|ask E")
	d.text = strings.Replace(d.text, "ask A", "ask a", 1) // the client wrote it anew
	d.sync(long, "f", "prompt", "ask F")
	d.expect(id, "ask A|ask C|answer C|ask E|ask a|ask F")
	d.back = []string{"b", "d", "e"}
	d.sync(long, "g", "prompt", "ask G")
	d.expect(id, "ask A|ask C|answer C|ask a|ask F|ask G")
}

// The first sync of a record that an older gt wrote finds what was taken back before. What the
// client wrote then before the next prompt stays.
func TestTakenBackBeforeThisVersion(t *testing.T) {
	d := &rewindDesk{desk: newDesk(t)}
	d.sync(0, "a", "prompt", "ask A")
	d.sync(0, "b", "prompt", "ask B", "answer", "answer B")
	id := d.sync(0, "a", "summary", "tried B")
	path := d.store.Path(id)
	w, _, err := d.store.openWriter(id) // an older gt's mark
	testenv.NoError(t, err)
	o, err := d.store.openRecord(id)
	testenv.NoError(t, err)
	end, err := o.readEnd()
	testenv.NoError(t, err)
	o.Close()
	end.mark.TakenBack = nil
	testenv.NoError(t, w.addLine(&Line{Kind: Mark, Time: epoch, Mark: end.mark}))
	testenv.NoError(t, w.close(false))
	d.back = []string{"b"}
	d.expect(id, "ask A|ask B|answer B|tried B")
	d.sync(0, "c", "prompt", "ask C")
	d.expect(id, "ask A|tried B|ask C")
	d.back = []string{"c"} // the person went back to B
	d.sync(0, "d", "prompt", "ask D")
	testenv.NoError(t, d.store.Pack(id))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
	d.expect(id, "ask A|ask B|answer B|tried B|ask D")
}

// A turn that was taken back is no event, but the time until the model's answer begins with what
// it was asked last.
func TestLatencyAfterRewind(t *testing.T) {
	d := &rewindDesk{desk: newDesk(t)}
	d.sync(0, "a", "prompt", "ask A")
	before := len(d.text)
	d.sync(0, "b", "prompt", "ask B")
	want := int64(len(d.text)-before) * 1000
	d.sync(0, "b", "spent", "")
	d.back = []string{"b"}
	id := d.sync(0, "c", "prompt", "ask C")
	var took []int64
	testenv.NoError(t, d.store.Events(id, func(h Event) error {
		if h.LatencyMs != nil {
			took = append(took, *h.LatencyMs)
		}
		return nil
	}))
	if len(took) != 1 || took[0] != want {
		t.Errorf("the model took %v ms, want %d", took, want)
	}
	testenv.NoError(t, d.store.Messages(id, func(m Message) error {
		if m.Content == "ask B" {
			t.Error("a message was taken back")
		}
		return nil
	}))
}
