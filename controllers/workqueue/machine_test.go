package workqueue

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
)

// TestMachineBatchesEventsAndWakes checks the times at which a process steps a machine, and the events of each step.
func TestMachineBatchesEventsAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var got []string
		client := fake.NewSimpleClientset()
		p := runner.Process{Environment: runner.Production(), Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Log: klog.Background()}
		err := Run(ctx, p, "test", func(p *runner.Process) error {
			m := runner.NewMachine(p, time.Second, func(now time.Time, events []int) time.Time {
				got = append(got, fmt.Sprintf("%v%v", now.Sub(start), events))
				if now.Sub(start) < 20*time.Second {
					return now.Add(15 * time.Second)
				}
				return time.Time{}
			})
			go func() {
				time.Sleep(time.Second)
				m.Push(1)
				time.Sleep(400 * time.Millisecond)
				m.Push(2)
				time.Sleep(9 * time.Second)
				m.Push()
				m.Push(7)
			}()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"0s[]", "2s[1 2]", "11.4s[7]", "26.4s[]"}; !slices.Equal(got, want) {
			t.Errorf("got steps %v, want %v", got, want)
		}
	})
}
