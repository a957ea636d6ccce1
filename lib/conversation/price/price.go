// Package price has what vendors ask for tokens: a dated table that comes with gt, and what the
// person puts in its place.
package price

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/text/count"
	"gt/lib/text/lazyregexp"
)

//go:embed prices.toml
var shipped string

// File is the name of the person's table in the folder of their settings.
const File = "prices.toml"

const maxFile = 1 << 20

// Table has the prices of models. prices.toml describes its form.
type Table struct {
	Read    time.Time             `toml:"read"` // when it was taken from the vendors' pages
	Sources []string              `toml:"sources"`
	Models  map[string][]priceRow `toml:"models"`
}

type priceRow struct {
	From         time.Time `toml:"from"`
	Above        int64     `toml:"above"`
	Input        *float64  `toml:"input"`
	Output       *float64  `toml:"output"`
	CacheRead    *float64  `toml:"cache_read"`
	CacheWrite   *float64  `toml:"cache_write"`
	CacheWrite1h *float64  `toml:"cache_write_1h"`
	Fast         float64   `toml:"fast"`
}

// Load returns the table that comes with gt, with the person's prices in place of its own. If
// theirs cannot be read, the table has none of them, and the error says why.
func Load(config string) (*Table, error) {
	table, err := parse(shipped)
	if err != nil {
		return table, err
	}
	path := filepath.Join(config, File)
	data, err := place.ReadConfig(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) || config == "" {
		return table, nil
	}
	if err != nil {
		return table, err
	}
	own, err := parse(string(data))
	if err != nil {
		return table, fmt.Errorf("cannot use '%s': %w", path, err)
	}
	maps.Copy(table.Models, own.Models)
	return table, nil
}

// parse parses a table. It refuses unknown keys, a row without a price of input or output, and prices
// below zero.
func parse(text string) (*Table, error) {
	table := &Table{}
	meta, err := toml.Decode(text, table)
	if err != nil {
		return table, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return table, fmt.Errorf("unknown key %s", unknown[0])
	}
	for model, rows := range table.Models {
		for i, r := range rows {
			y, m, d := r.From.Date() // which TOML reads as one of this machine's zone
			rows[i].From = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
			if r.Input == nil || r.Output == nil {
				return table, fmt.Errorf("no input or output for %s", model)
			}
			for _, p := range []*float64{r.Input, r.Output, r.CacheRead, r.CacheWrite, r.CacheWrite1h, &r.Fast} {
				// This form also finds NaN, which TOML allows.
				if p != nil && !(*p >= 0) {
					return table, fmt.Errorf("a price below zero for %s", model)
				}
			}
		}
	}
	return table, nil
}

// RequestPrice returns the price of one request in US dollars, and whether the table has its model
// and mode. Cached tokens without a price of their own cost as much as input.
func (t *Table) RequestPrice(model string, at time.Time, u conversation.Usage) (dollars float64, ok bool) {
	r, ok := t.findRow(model, at, u.Input+u.CacheRead+u.CacheWrite)
	if !ok || u.Fast && r.Fast == 0 {
		return 0, false
	}
	write := *cmp.Or(r.CacheWrite, r.Input)
	sum := float64(u.Input)**r.Input + float64(u.Output)**r.Output + float64(u.CacheRead)**cmp.Or(r.CacheRead, r.Input) +
		float64(u.CacheWrite-u.CacheWrite1h)*write + float64(u.CacheWrite1h)**cmp.Or(r.CacheWrite1h, &write)
	if u.Fast {
		sum *= r.Fast
	}
	const million = 1e6
	return sum / million, true
}

// Text returns the price of a usage: "?" if no price of its tokens is known, and with a "+" behind
// it if that of some is not.
func Text(u conversation.Usage) string {
	switch {
	case u.Unpriced == 0:
		return count.Dollars(u.Priced)
	case u.Priced == 0:
		return "?"
	}
	return count.Dollars(u.Priced) + "+"
}

// findRow returns the row for a request at a time: the one that began last and, of several that
// began then, the one with the highest Above that the prompt, in tokens, is over.
func (t *Table) findRow(model string, at time.Time, prompt int64) (found priceRow, ok bool) {
	for _, r := range t.rows(model) {
		if !at.IsZero() && at.Before(r.From) || prompt <= r.Above && r.Above > 0 {
			continue
		}
		if later := r.From.Compare(found.From); !ok || later > 0 || later == 0 && r.Above >= found.Above {
			found, ok = r, true
		}
	}
	return found, ok
}

var dated = lazyregexp.New(`[-@]20\d\d-?\d\d-?\d\d$`)

// rows returns a model's rows by its name, else by its name without vendor and day, and notes them
// in Models under the model's name.
func (t *Table) rows(model string) []priceRow {
	if rows := t.Models[model]; rows != nil {
		return rows
	}
	name, _, _ := strings.Cut(strings.ToLower(model), "[") // of the context window
	for _, vendor := range []string{"anthropic/", "openai/", "google/"} {
		name = strings.TrimPrefix(name, vendor)
	}
	if strings.HasPrefix(name, "claude-") {
		name = strings.ReplaceAll(name, ".", "-")
	}
	if rows := t.Models[name]; rows != nil {
		return rows
	}
	rows := t.Models[dated().ReplaceAllString(name, "")]
	if rows == nil {
		rows = []priceRow{} // not nil, so that the next call ends at the first look
	}
	t.Models[model] = rows // a conversation asks again for each request
	return rows
}
