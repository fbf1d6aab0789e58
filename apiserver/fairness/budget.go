package fairness

import (
	"fmt"
	"sync"
)

// bodyUse is what bodies use of a budget, or its limit.
type bodyUse struct {
	bytes  int64 // in memory, of requests that have not finished
	bodies int   // that have not arrived completely
}

func (u *bodyUse) add(o bodyUse) { u.bytes, u.bodies = u.bytes+o.bytes, u.bodies+o.bodies }

// check returns a *limitError if u exceeds the limit. user is "" if u is the use of all users.
func (u bodyUse) check(limit bodyUse, user string) error {
	switch {
	case u.bytes > limit.bytes:
		return &limitError{"bytes of bodies of unfinished requests", user, u.bytes, limit.bytes}
	case u.bodies > limit.bodies:
		return &limitError{"bodies that have not arrived", user, int64(u.bodies), int64(limit.bodies)}
	}
	return nil
}

// limitError reports that requests of a user, or of all users, exceed a limit.
type limitError struct {
	what       string // what the limit counts
	user       string // "": all users
	use, limit int64
}

// Error implements error. It does not reveal to a user how much others send.
func (e *limitError) Error() string {
	if e.user == "" {
		return fmt.Sprintf("%s of all users: must be at most %d", e.what, e.limit)
	}
	return fmt.Sprintf("%s of user %q: %d: must be at most %d", e.what, e.user, e.use, e.limit)
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

// open returns the charge of a body that has not arrived, and a *limitError if it exceeds the limits. The caller must
// close the charge in both cases.
func (b *bodyBudget) open(user string) (*bodyCharge, error) {
	c := &bodyCharge{budget: b, user: user}
	return c, c.change(bodyUse{bodies: 1})
}

// bodyCharge is what one request uses of a budget.
type bodyCharge struct {
	budget *bodyBudget
	user   string
	use    bodyUse
}

// change adds to the charge and returns a *limitError if it exceeds the limits. Use beyond the limits is charged, too,
// until the charge is closed.
func (c *bodyCharge) change(by bodyUse) error {
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
	if err := ofUser.check(b.perUser, c.user); err != nil {
		return err
	}
	return b.sum.check(b.total, "")
}

// add charges n bytes and returns a *limitError if they exceed the limits. n may be negative.
func (c *bodyCharge) add(n int64) error { return c.change(bodyUse{bytes: n}) }

// bodyArrived records that the body has arrived. Its bytes remain charged.
func (c *bodyCharge) bodyArrived() { _ = c.change(bodyUse{bodies: -c.use.bodies}) }

// close releases the charge.
func (c *bodyCharge) close() { _ = c.change(bodyUse{-c.use.bytes, -c.use.bodies}) }
