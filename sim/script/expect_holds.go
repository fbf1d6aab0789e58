package script

import (
	"fmt"

	"github.com/berthproject/berth/sim/store"
)

// expectHolds reads the expected number of Holds.
func expectHolds(w *tokens) (func(*run) error, error) {
	word, _ := w.next()
	o := &options{values: map[string]string{"holds": word}}
	want := int(o.number("holds", 0, 0, 1<<31-1))
	return func(r *run) error {
		if got := len(r.w.API().List(store.Holds)); got != want {
			return fmt.Errorf("there are %d Holds, want %d", got, want)
		}
		return nil
	}, o.err
}
