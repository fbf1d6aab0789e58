package config

import (
	"strings"
	"testing"
)

func TestRenamedOptions(t *testing.T) {
	read := func(document string) (Berth, error) {
		return ReadBerth(Document{File: "c.yaml", APIVersion: APIVersion, Kind: Kind, JSON: []byte(document)})
	}
	c, err := read(`{"scheduler": {"viewMemoryMiB": 7, "seed": 18446744073709551615}, "holds": {"firstSeconds": 3, "mostSeconds": 40},
		"pressure": {"countDying": false}}`)
	if err != nil || c.Scheduler.ScoreCacheMemoryMiB != 7 || c.Scheduler.Seed != 1<<64-1 || c.Holds.InitialSeconds != 3 || c.Holds.MaxSeconds != 40 || c.Pressure.CountTerminating {
		t.Errorf("got %+v, %+v, %+v and error %v, want the values of the former names", c.Scheduler, c.Holds, c.Pressure, err)
	}
	const want = "c.yaml: holds.mostSeconds: deprecated name of holds.maxSeconds, which is also set"
	if _, err := read(`{"holds": {"mostSeconds": 40, "maxSeconds": 50}}`); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q in it", err, want)
	}
}
