package scheduler

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/recording"
)

func TestRecordedRunCanBeReplayed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r, err := recording.Open(dir, recording.Options{Writer: "scheduler"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		client := cluster("2")
		_, stop := start(t, client, client, nil, func(o *Options) { o.Inputs, o.Seed, o.InitialBackoff = r, 7, 2*time.Second })
		for i := range 6 {
			create(t, client, fmt.Sprintf("p%d", i), "500m")
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if s := r.Stats(); s.Steps == 0 || s.DroppedSteps != 0 {
			t.Errorf("got %+v, want steps and no dropped steps", s)
		}
	})
	segments, err := recording.Segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	result, err := recording.Replay(t.Context(), segments, NewRecordedMachine)
	if err != nil || result.Difference != nil || result.Decisions < 8 {
		t.Errorf("got %+v, %v; want at least 8 equal decisions", result, err)
	}
}

func TestRecordedOptionsHaveNoCredentials(t *testing.T) {
	o := Options{Extenders: config.Extenders{{URL: "https://user:secret@extender", Filter: "filter", Managed: []string{"a/b"}}}}
	o.Extenders[0].TLS.KeyData = []byte("key")
	e := o.machineOptions().Extenders[0]
	if e.URL != "" || e.TLS.KeyData != nil || e.Filter != "filter" || len(e.Managed) != 1 {
		t.Errorf("got %+v, want the extender without address and key", e)
	}
	if o.Extenders[0].URL == "" {
		t.Error("the options themselves were changed, want a changed copy")
	}
}

func TestMachineClockNeverGoesBack(t *testing.T) {
	fake := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c := machineClock{clock: fake}
	first := c.now()
	for _, x := range []struct {
		step, want time.Duration // since first
	}{{time.Second, time.Second}, {time.Hour, time.Hour + time.Second}, {-30 * time.Minute, time.Hour + time.Second}, {2 * time.Second, time.Hour + 2*time.Second}, // the wall clock is half an hour behind
		{time.Hour - 2*time.Second, 90*time.Minute + time.Second}, {time.Second, 90*time.Minute + 2*time.Second}} {
		fake.SetTime(fake.Now().Add(x.step))
		if got := c.now().Sub(first); got != x.want {
			t.Errorf("after a step of %v: got %v, want %v", x.step, got, x.want)
		}
	}
}
