package invariants

import "github.com/berthproject/berth/engine/placement/framework"

// CheckNoPodWouldFit exports checkNoPodWouldFit.
func (a *Checker) CheckNoPodWouldFit() { a.checkNoPodWouldFit() }

// AddProfile makes the checker expect a profile that the scheduler does not have.
func (a *Checker) AddProfile(p *framework.Profile) { a.o.Profiles = append(a.o.Profiles, p) }
