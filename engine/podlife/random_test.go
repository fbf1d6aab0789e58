package podlife

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
)

// TestRandomLives holds the invariants of doc.go over random stories.
func TestRandomLives(t *testing.T) {
	for seed := int64(0); seed < 3000; seed++ {
		rnd := rand.New(rand.NewSource(seed))
		inits := [][]string{{"a", "+s", "b"}, {"a", "+!s", "b"}}[rnd.Intn(2)]
		mains := [][]string{{"x", "y"}, {"!x", "y"}}[rnd.Intn(2)]
		p := &player{rnd: rnd, up: map[string]bool{}, asked: map[string]time.Time{}, now: t0,
			l: New(Spec{Init: names(inits...)[:rnd.Intn(4)], Containers: names(mains...)[:1+rnd.Intn(2)], Restart: RestartPolicy(rnd.Intn(3))})}
		if err := p.live(); err != "" {
			t.Fatalf("seed %d: %s", seed, err)
		}
	}
}

// player is a runtime that starts what it is told, lets containers and hooks end at
// random, and deletes the pod at some time.
type player struct {
	rnd      *rand.Rand
	l        *Life
	up       map[string]bool
	asked    map[string]time.Time // to stop
	news     []Event
	now      time.Time
	deadline time.Time
}

func (p *player) live() string {
	for step := range 400 {
		for _, c := range []string{"a", "s", "b", "x", "y"} {
			if p.up[c] && (p.rnd.Intn(3) == 0 || step > 100) {
				p.news = append(p.news, Exited{Container: c, Code: int32(p.rnd.Intn(2))})
				delete(p.up, c)
				delete(p.asked, c)
			}
		}
		p.now = p.now.Add(time.Duration(p.rnd.Intn(20)) * time.Second)
		if step == 50 {
			grace := time.Duration(p.rnd.Intn(40)) * time.Second
			p.news, p.deadline = append(p.news, Delete{grace}), p.now.Add(grace)
		}
		effects, _ := p.l.Step(p.now, p.news...)
		p.news = nil
		for _, e := range effects {
			if _, gone := e.(Gone); gone {
				if len(p.up) > 0 {
					return fmt.Sprintf("gone while %v run", p.up)
				}
				return ""
			}
			if fault := p.does(e); fault != "" {
				return fault
			}
		}
	}
	return "never gone"
}

// does carries out an effect and says what is wrong with it.
func (p *player) does(e Effect) string {
	switch e := e.(type) {
	case Start:
		if p.up[e.Container] {
			return e.Container + " runs twice"
		}
		if e.Container == "b" && !p.up["s"] {
			return "b starts without its sidecar"
		}
		p.up[e.Container] = true
		p.news = append(p.news, Started{Container: e.Container})
	case PreStop:
		if p.rnd.Intn(2) == 0 {
			p.news = append(p.news, PreStopped{e.Container})
		}
	case Stop:
		if e.Container == "s" && p.now.Before(p.deadline) && (p.up["x"] || p.up["y"]) {
			return "a sidecar is stopped before what needs it"
		}
		p.asked[e.Container] = p.now
	case Kill:
		if at, ok := p.asked[e.Container]; !ok || p.now.Sub(at) < minStop || p.now.Before(p.deadline) {
			return e.Container + " is killed too early"
		}
	}
	return ""
}
