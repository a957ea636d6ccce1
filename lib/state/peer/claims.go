package peer

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
)

// Claim is what another host has of this host's: an instance that moved away.
type Claim struct {
	Host  Host
	Moves int // how often it had moved when it left this host
}

// MostDepartures bounds how many hosts an instance can prove that it came from.
const MostDepartures = 32

// departure is a field of the JSON of an instance that has moved.
var departure = []byte(`"departures":`)

// Depart returns the departures of an instance that leaves this host for the moves-th time, and
// with them the proof that it did. It has none for a host that belongs to no fleet.
func (h Hosts) Depart(in *instance.Instance, moves int) ([]instance.Departure, error) {
	key, err := h.moveKey()
	if err != nil || key == nil {
		return in.Departures, err
	}
	all := append(slices.Clone(in.Departures), instance.Departure{Moves: moves, Proof: proof(key, in.ID, moves)})
	return all[max(len(all)-MostDepartures, 0):], nil
}

// moveKey returns a key that only this host can make, also from a backup; nil if it is in no fleet.
func (h Hosts) moveKey() ([]byte, error) {
	data, err := atomicfile.IfExists(atomicfile.ReadIf(h.state.Path("relay", "keys.json"), 4096, atomicfile.CheckPrivate))
	if err != nil || data == nil {
		return nil, err
	}
	var keys struct {
		Seed string `json:"seed"`
	}
	err = json.Unmarshal(data, &keys)
	sum := sha256.Sum256([]byte("gt-session move 1\n" + keys.Seed))
	return sum[:], err
}

func proof(key []byte, id instance.ID, moves int) string {
	return digest(key, fmt.Sprintf("%s\n%d\n", id, moves))
}

func digest(key []byte, text string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// Show returns departures as this host shows them in its list of agents, which everybody reads: they
// prove nothing for another host that shows them, too.
func (h Hosts) Show(all []instance.Departure) (shown []instance.Departure) {
	own, err := h.LocalHost()
	if err != nil {
		return nil // in no fleet
	}
	for _, d := range all {
		shown = append(shown, instance.Departure{Moves: d.Moves, Proof: shownBy(own.Key, d.Proof)})
	}
	return shown
}

func shownBy(key, proof string) string { return digest([]byte(proof), key) }

// Claims returns the instances that left this host and that others show as theirs, by their ID. It
// believes a departure only by its proof (see Depart). err joins what could not be read.
func (h Hosts) Claims() (all map[instance.ID]Claim, err error) {
	hosts, err := h.ReadHosts()
	var key []byte
	for _, host := range hosts {
		data, failed := h.states(host)
		err = errors.Join(err, failed)
		if !bytes.Contains(data, departure) || h.Blocked(host) != nil {
			continue
		}
		if key == nil {
			if key, failed = h.moveKey(); failed != nil || key == nil {
				return nil, errors.Join(err, failed)
			}
			all = map[instance.ID]Claim{}
		}
		for line := range bytes.Lines(data) {
			var a Agent
			if !bytes.Contains(line, departure) || json.Unmarshal(line, &a) != nil || a.Moved != nil || len(a.Departures) > MostDepartures {
				continue
			}
			id := instance.ID(a.ID)
			for _, d := range a.Departures {
				whole := proof(key, id, d.Moves) // v0.2.0 shows the proof itself
				if d.Moves > all[id].Moves &&
					(hmac.Equal([]byte(d.Proof), []byte(shownBy(host.Key, whole))) || hmac.Equal([]byte(d.Proof), []byte(whole))) { // mutant always: TestClaims
					all[id] = Claim{host, d.Moves}
				}
			}
		}
	}
	return all, err
}

// MarkMoved marks an instance as moved if another host claims it by a later move than this host
// knows of: this host was restored from a backup.
func MarkMoved(in *instance.Instance, claims map[instance.ID]Claim) {
	if c, ok := claims[in.ID]; ok && in.Moved == nil && c.Moves > in.Generation {
		in.Moved = &instance.Moved{To: c.Host.Name, At: c.Host.LastSeen, Complete: true}
	}
}

// WayOn returns a hint for an instance that moves or has moved to another host of the fleet: the
// command that goes on with the move, or brings it back. It is "" if the parcel went another way.
func (h Hosts) WayOn(in *instance.Instance) string {
	own, err := h.LocalHost()
	if err != nil || in.Moved == nil {
		return ""
	}
	switch to, err := h.Get(in.Moved.To); {
	case err != nil:
		return ""
	case !in.Moved.Complete || h.waits(to.Name, in.Moved.Parcel):
		return fmt.Sprintf("gt-session move %s --to %s goes on with it", in.Name, to.Name)
	default:
		return fmt.Sprintf("on %s, gt-session move %s --to %s brings it back", to.Name, in.Name, own.Name)
	}
}

// waits reports whether a parcel is still here, in a letter to a host.
func (h Hosts) waits(to, parcel string) bool {
	_, is, err := OutboxOf(h.state).MovingTo(to, parcel)
	return is && err == nil
}

// Underway marks an instance as on its way if its parcel still waits here.
func (h Hosts) Underway(in *instance.Instance) {
	if m := in.Moved; m != nil && m.Complete && m.To != "" { // mutant never: TestWayOn
		m.Waits = h.waits(m.To, m.Parcel)
	}
}
