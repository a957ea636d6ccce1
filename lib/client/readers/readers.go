// Package readers lists the readers of all clients. A program that reads conversations
// links all of them; readers/files has only those without a database. lib/catalog/scan
// and lib/catalog/search find and search conversations.
package readers

import (
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	opencode "gt/lib/client/opencode/conversation"
	"gt/lib/client/readers/files"
	"gt/lib/conversation"
)

// Readers has one reader for each client.
var Readers = append(slices.Clip(files.Readers), &opencode.Reader{})

func init() { conversation.Unpack = unpack }

func unpack(r io.Reader, limit int64) ([]byte, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit)))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return io.ReadAll(io.LimitReader(d, limit))
}

// FindReader returns a client's reader, or nil.
func FindReader(client string) conversation.Reader {
	return conversation.ByClient(Readers, client)
}
