package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gt/bench/measure"
)

// processes is how many programs append at once.
const processes = 64

const appendCase = "append"

// appends lets many sessions start at once, and then end at once, in one town,
// and counts what the event log has of each.
func (w *world) appends(rounds int) error {
	state := filepath.Join(w.dir, "state-together")
	places := make([]place, processes)
	for i := range places {
		places[i] = place{world: w, dir: filepath.Join(w.dir, "together", fmt.Sprint(i)), state: state}
		if err := os.MkdirAll(places[i].dir, 0o700); err != nil {
			return err
		}
	}
	want := map[string]int{} // events by session and type
	var ratio []float64
	var floors, ours []time.Duration
	for range rounds {
		starts, ends := make([]command, processes), make([]command, processes)
		for i, p := range places {
			s := w.newSessionID()
			starts[i], ends[i] = p.start(s, "startup"), p.end(s)
			want[s+" session_start"]++
			want[s+" session_end"]++
		}
		floor := make([]command, processes)
		for i := range floor {
			floor[i] = w.floor(starts[i], false)
		}
		for _, set := range [][]command{starts, ends} {
			f, err := atOnce(floor)
			if err != nil {
				return err
			}
			o, err := atOnce(set)
			if err != nil {
				return err
			}
			floors, ours = append(floors, f), append(ours, o)
			ratio = append(ratio, float64(o)/float64(f))
		}
	}
	events, torn, lost, err := count(logIn(state), want)
	if err != nil {
		return err
	}
	low, median, high := measure.Quartiles(ratio)
	fmt.Printf("\n%d processes at once append to one event log, %d times: %d events, %d lost, %d torn. All take %s ms, %.2f\n",
		processes, 2*rounds, events, lost, torn, millis(ours), median)
	fmt.Printf("(%.2f to %.2f) times what %d floors at once take (%s ms).\n", low, high, processes, millis(floors))
	if lost > 0 || torn > 0 || events != len(want) {
		return fmt.Errorf("%d events are missing, %d lines are torn, and %d of %d are there", lost, torn, events, len(want))
	}
	return nil
}

// atOnce runs the commands at the same time and returns how long all took.
func atOnce(commands []command) (time.Duration, error) {
	errs := make([]error, len(commands))
	var all sync.WaitGroup
	began := time.Now()
	for i, c := range commands {
		all.Go(func() { _, errs[i] = c.run() })
	}
	all.Wait()
	wall := time.Since(began)
	for _, err := range errs {
		if err != nil {
			return wall, err
		}
	}
	return wall, nil
}

// count reads the log: how many events it has, how many lines are no event,
// and how many of the wanted ones are not there exactly once.
func count(path string, want map[string]int) (events, torn, lost int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, 0, err
	}
	got := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var e struct {
			Type    string `json:"type"`
			Payload struct {
				SessionID string `json:"session_id"`
			} `json:"payload"`
		}
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &e) != nil {
			torn++
			continue
		}
		events++
		got[e.Payload.SessionID+" "+e.Type]++
	}
	for key, n := range want {
		if got[key] != n {
			lost++
		}
	}
	return events, torn, lost, nil
}
