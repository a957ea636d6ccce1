package parcel

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
)

// content is what a member holds: a file, or data.
type content struct {
	path string
	root *os.Root // path is relative to it, unless it is nil
	data []byte
}

// openContent opens the file, or the data of a content without a path.
func (c content) openContent() (io.ReadCloser, error) {
	switch {
	case c.path == "":
		return io.NopCloser(bytes.NewReader(c.data)), nil
	case c.root != nil:
		return atomicfile.OpenIn(c.root, c.path)
	}
	return atomicfile.Open(c.path)
}

// copyTo copies the content, up to a limit, and returns its size and digest.
func (c content) copyTo(out io.Writer, most int64) (size int64, digest string, err error) {
	r, err := c.openContent()
	if err != nil {
		return 0, "", err
	}
	defer r.Close()
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(r, most))
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// writer collects the members of a parcel.
type writer struct {
	manifest *Manifest
	contents []content
}

// addMember adds a member and returns its name.
func (w *writer) addMember(c content) (string, error) {
	name := memberName(len(w.contents))
	err := w.addNamed(name, c)
	return name, err
}

// addJSON is addMember for a value.
func (w *writer) addJSON(v any) (string, error) {
	data, err := openjson.File(v)
	if err != nil {
		return "", err
	}
	return w.addMember(content{data: data})
}

// addNamed adds a member. It reads the content for size and digest; writeParcel reads it again.
func (w *writer) addNamed(name string, c content) error {
	one := Member{Name: name}
	var err error
	if one.Size, one.SHA256, err = c.copyTo(io.Discard, math.MaxInt64); err != nil {
		return err
	}
	w.contents = append(w.contents, c)
	w.manifest.Members = append(w.manifest.Members, one)
	return nil
}

// writeParcel writes the parcel. It calls beforeLast before the last member, which completes it.
func (w *writer) writeParcel(out io.Writer, beforeLast func() error) error {
	if err := w.addNamed(endName, content{data: []byte(w.manifest.ID)}); err != nil {
		return err
	}
	if err := w.manifest.check(); err != nil { // the other side would refuse it
		return fmt.Errorf("cannot make the parcel: %w", err)
	}
	data, err := openjson.File(w.manifest)
	if err != nil {
		return err
	}
	if len(data) > maxManifest {
		return fmt.Errorf("cannot make the parcel: its manifest has more than %d bytes", maxManifest)
	}
	t := tar.NewWriter(out)
	header := func(name string, size int64) error {
		return t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.manifest.At.Truncate(time.Second), Format: tar.FormatPAX})
	}
	if err := header(manifestName, int64(len(data))); err != nil {
		return err
	}
	if _, err := t.Write(data); err != nil {
		return err
	}
	for i, c := range w.contents {
		one := w.manifest.Members[i]
		if one.Name == endName {
			if err := beforeLast(); err != nil {
				return err
			}
		}
		if err := header(one.Name, one.Size); err != nil {
			return err
		}
		if n, digest, err := c.copyTo(t, one.Size); err != nil {
			return err
		} else if n != one.Size || digest != one.SHA256 {
			return atomicfile.Error("pack", c.path, errChanged)
		}
	}
	return t.Close()
}

// reader reads a parcel.
type reader struct {
	*tar.Reader
	Manifest
}

// errIncomplete reports a parcel that ends early.
var errIncomplete = errors.New("the parcel is incomplete")

// openParcel reads and checks the manifest.
func openParcel(in io.Reader) (*reader, error) {
	r := &reader{Reader: tar.NewReader(in)}
	h, err := r.Next()
	switch {
	case err == io.EOF:
		return nil, errIncomplete
	case errors.Is(err, tar.ErrHeader):
		return nil, errors.New("it is not a parcel of gt")
	case err != nil:
		return nil, err
	case h.Typeflag != tar.TypeReg || h.Name != manifestName || h.Size > maxManifest:
		return nil, errors.New("it is not a parcel of gt")
	}
	data, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		return nil, asIncomplete(err)
	}
	if bytes.Count(data, []byte(",")) > maxValues { // mutant never: TestHostile
		return nil, fmt.Errorf("its manifest has more than %d values", maxValues)
	}
	if err := json.Unmarshal(data, &r.Manifest); err != nil {
		return nil, fmt.Errorf("its manifest is not JSON: %w", err)
	}
	err = r.check()
	if err == nil && r.Git != nil && runtime.GOOS == "darwin" { // its file systems ignore case
		err = r.Git.checkPlaces(foldedName)
	}
	return r, err
}

// isSparse reports whether a member has zeros that are not in the file: a parcel of 1 KB would take
// gigabytes here.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func asIncomplete(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errIncomplete
	}
	return err
}

// extract writes the members into a folder, under their names in the parcel, and checks
// each.
func (r *reader) extract(dir string) error {
	for _, one := range r.Members {
		h, err := r.Next()
		switch {
		case err != nil:
			return asIncomplete(err)
		case h.Typeflag != tar.TypeReg || h.Name != one.Name || h.Size != one.Size || isSparse(h): // mutant never: TestHostile
			return fmt.Errorf("its member %.80q is not the one that it describes", h.Name)
		}
		sum := sha256.New()
		if err := atomicfile.Copy(filepath.Join(dir, one.Name), io.TeeReader(io.LimitReader(r, one.Size), sum)); err != nil {
			return asIncomplete(err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != one.SHA256 { // mutant never: TestHostile
			return fmt.Errorf("its member %s is damaged", one.Name)
		}
	}
	return nil
}
