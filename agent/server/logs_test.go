package server

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

func TestLogRequest(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for query, want := range map[string]string{
		"":                             "{true true -1 0001-01-01 00:00:00 +0000 UTC 0 false false} false",
		"tailLines=0&follow=true":      "{true true 0 0001-01-01 00:00:00 +0000 UTC 0 false true} false",
		"sinceSeconds=5&previous=true": "{true true -1 2026-01-02 03:04:00 +0000 UTC 0 false false} true",
		"sinceTime=2026-01-01T00:00:00Z&timestamps=1&limitBytes=9": "{true true -1 2026-01-01 00:00:00 +0000 UTC 9 true false} false",
		"stream=Stderr":    "{false true -1 0001-01-01 00:00:00 +0000 UTC 0 false false} false",
		"tailLines=-1":     `tailLines="-1": must be a number of at least 0`,
		"limitBytes=0":     `limitBytes="0": must be a number of at least 1`,
		"sinceSeconds=x":   `sinceSeconds="x": must be a number of at least 1`,
		"sinceTime=monday": `sinceTime="monday": must be a time such as 2026-01-02T15:04:05Z`,
		"follow=perhaps":   `follow="perhaps": must be true or false`,
		"stream=Stdin":     `stream="Stdin": must be All, Stdout or Stderr`,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		q, previous, err := logRequest(values, now)
		got := fmt.Sprint(q, previous)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}
