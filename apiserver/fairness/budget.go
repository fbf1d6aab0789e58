package fairness

import "sync"

// bodyBudget limits the bytes of the bodies of unfinished requests, per user and in total.
type bodyBudget struct {
	perUser, total int64

	mu    sync.Mutex
	users map[string]int64 // only users with bytes
	sum   int64
}

func newBodyBudget(perUser, total int64) *bodyBudget {
	return &bodyBudget{perUser: perUser, total: total, users: map[string]int64{}}
}

// open returns an empty charge of a user. The caller must close it.
func (b *bodyBudget) open(user string) *bodyCharge { return &bodyCharge{budget: b, user: user} }

// bodyCharge is what one request uses of a budget.
type bodyCharge struct {
	budget *bodyBudget
	user   string
	bytes  int64
}

// add charges n bytes and reports whether they are within the limits. Bytes beyond the limits are
// charged, too, until the charge is closed.
func (c *bodyCharge) add(n int64) bool {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	c.bytes += n
	b.sum += n
	b.users[c.user] += n
	return b.users[c.user] <= b.perUser && b.sum <= b.total
}

// close releases the charge.
func (c *bodyCharge) close() {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum -= c.bytes
	if b.users[c.user] -= c.bytes; b.users[c.user] == 0 {
		delete(b.users, c.user)
	}
}
