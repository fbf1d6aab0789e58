package workqueue

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestStepperBatchesEventsAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := NewStepper[int](clock.RealClock{})
		var got []string
		s.Push(0)
		go func() {
			time.Sleep(time.Second)
			s.Push(1)
			time.Sleep(400 * time.Millisecond)
			s.Push(2)
			time.Sleep(9 * time.Second)
			s.Push()
			s.Push(7)
		}()
		s.Run(ctx, time.Second, func(now time.Time, events []int) time.Time {
			got = append(got, fmt.Sprintf("%v%v", now.Sub(start), events))
			if now.Sub(start) < 20*time.Second {
				return now.Add(15 * time.Second)
			}
			return time.Time{}
		})
		want := []string{"0s[0]", "2s[1 2]", "11.4s[7]", "26.4s[]"}
		if !slices.Equal(got, want) {
			t.Errorf("got steps %v, want %v", got, want)
		}
	})
}
