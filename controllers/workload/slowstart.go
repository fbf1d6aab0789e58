package workload

import "github.com/berthproject/berth/controllers/runner"

// SlowStartBatch calls f for 0 to n-1, first once and then, while there is no error, for twice as many values at a time.
// It returns the number of successes and the first error. An exceeded quota then costs one request, not hundreds.
func SlowStartBatch(env runner.Environment, n int, f func(i int) error) (done int, err error) {
	for begin, batch := 0, 1; begin < n; begin, batch = begin+batch, 2*batch {
		batch = min(batch, n-begin)
		errs := make([]error, batch)
		env.ForEach(batch, batch, func(i int) { errs[i] = f(begin + i) })
		for _, e := range errs {
			if e == nil {
				done++
			} else if err == nil {
				err = e
			}
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
