package fairness

import "sync"

// bodyUse is what bodies use of a budget, or its limit.
type bodyUse struct {
	bytes  int64 // in memory, of requests that have not finished
	bodies int   // that have not arrived completely
}

func (u *bodyUse) add(o bodyUse) { u.bytes, u.bodies = u.bytes+o.bytes, u.bodies+o.bodies }

func (u bodyUse) isWithin(limit bodyUse) bool {
	return u.bytes <= limit.bytes && u.bodies <= limit.bodies
}

// bodyBudget limits the bodies of unfinished requests, per user and in total.
type bodyBudget struct {
	perUser, total bodyUse

	mu    sync.Mutex
	users map[string]bodyUse // only users with unfinished requests
	sum   bodyUse
}

func newBodyBudget(perUser, total bodyUse) *bodyBudget {
	return &bodyBudget{perUser: perUser, total: total, users: map[string]bodyUse{}}
}

// open returns the charge of a body that has not arrived, and reports whether it is within the limits. The caller must
// close the charge in both cases.
func (b *bodyBudget) open(user string) (*bodyCharge, bool) {
	c := &bodyCharge{budget: b, user: user}
	return c, c.change(bodyUse{bodies: 1})
}

// bodyCharge is what one request uses of a budget.
type bodyCharge struct {
	budget *bodyBudget
	user   string
	use    bodyUse
}

// change adds to the charge and reports whether it is within the limits. Use beyond the limits is charged, too, until the
// charge is closed.
func (c *bodyCharge) change(by bodyUse) bool {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	c.use.add(by)
	b.sum.add(by)
	ofUser := b.users[c.user]
	ofUser.add(by)
	b.users[c.user] = ofUser
	if ofUser == (bodyUse{}) {
		delete(b.users, c.user)
	}
	return ofUser.isWithin(b.perUser) && b.sum.isWithin(b.total)
}

// add charges n bytes and reports whether they are within the limits. n may be negative.
func (c *bodyCharge) add(n int64) bool { return c.change(bodyUse{bytes: n}) }

// bodyArrived records that the body has arrived. Its bytes remain charged.
func (c *bodyCharge) bodyArrived() { c.change(bodyUse{bodies: -c.use.bodies}) }

// close releases the charge.
func (c *bodyCharge) close() { c.change(bodyUse{-c.use.bytes, -c.use.bodies}) }
