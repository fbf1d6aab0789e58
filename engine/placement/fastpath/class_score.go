package fastpath

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// scoreParams are the parameters of the pod for the resource filter and score of a node.
type scoreParams struct {
	filterFit              bool // NodeResourcesFit is enabled
	requests               model.Resources
	requestCPU             int64 // from requests, or noRequest
	requestMem             int64
	cpuMemoryOnly          bool  // the fit filter reads only cpu, memory and the number of pods
	fitWeight              int64 // plugin weights
	balanceWeight          int64
	scoringCPU, scoringMem int64 // for the fit score
	// scorers are the score functions of plugins without a fast implementation.
	scorers   []func(*framework.CandidateNode) int64
	weights   []int64 // of scorers
	fastScore bool    // only the default fit score and possibly the default balance score
}

// compileScore compiles the resource filter and scores.
func (c *classBuilder) compileScore() {
	table, s := &c.engine.plugins, &c.score
	if table.filters.Has(decision.NodePorts) {
		c.ports = c.spec.Ports
	}
	s.filterFit, s.requests = table.filters.Has(decision.NodeResourcesFit), c.spec.Requests
	if s.filterFit {
		c.scalars = plugins.FilteredScalars(c.ev)
		c.reference = c.reference || len(c.scalars) > maxScalars
	}
	s.cpuMemoryOnly = s.filterFit && len(c.ports)+len(c.scalars) == 0 && s.requests.Ephemeral <= 0
	s.requestCPU, s.requestMem = s.requests.MilliCPU, s.requests.Memory
	if s.requestCPU <= 0 {
		s.requestCPU = noRequest
	}
	if s.requestMem <= 0 {
		s.requestMem = noRequest
	}
	fit, balance := table.weights[decision.NodeResourcesFit], table.weights[decision.NodeResourcesBalancedAllocation]
	if fit > 0 && table.defaultFit {
		requests := &c.spec.Scoring
		if c.spec.ScoringIncoming != nil {
			requests = c.spec.ScoringIncoming
		}
		s.fitWeight, s.scoringCPU, s.scoringMem = fit, requests.MilliCPU, requests.Memory
	} else if fit > 0 {
		s.scorers, s.weights = append(s.scorers, plugins.PreScore(c.ev, decision.NodeResourcesFit, nil).Score), append(s.weights, fit)
	}
	if balance > 0 && table.defaultBalance {
		if s.requests.MilliCPU != 0 || s.requests.Memory != 0 {
			s.balanceWeight = balance
		}
	} else if b := plugins.PreScore(c.ev, decision.NodeResourcesBalancedAllocation, nil); balance > 0 && b.Score != nil {
		s.scorers, s.weights = append(s.scorers, b.Score), append(s.weights, balance)
	}
	s.fastScore = s.fitWeight > 0 && len(s.scorers) == 0
}

// nodeScore returns the weighted sum of the fit and balance scores of a node.
func (ec *equivalenceClass) nodeScore(x *cluster.Index, id cluster.NodeID) int32 {
	r, s := &x.Rows[id], &ec.score
	if s.fastScore {
		if sum := s.fitAndBalance(r); sum >= 0 {
			return int32(sum)
		}
	}
	var sum int64
	if s.fitWeight > 0 {
		sum = s.fitWeight * leastAllocatedCPUMem(r, s.scoringCPU, s.scoringMem)
	}
	if s.balanceWeight > 0 {
		sum += s.balanceWeight * balancedCPUMem(r, s.requests.MilliCPU, s.requests.Memory)
	}
	if len(s.scorers) > 0 {
		candidate := framework.NewCandidateNode(x.State().Node(id))
		for i, score := range s.scorers {
			sum += s.weights[i] * score(&candidate)
		}
	}
	return int32(sum)
}

// fitAndBalance returns nodeScore for the common case, or -1 if the amounts are unusual.
// It computes the same as leastAllocatedCPUMem and balancedCPUMem.
func (s *scoreParams) fitAndBalance(r *cluster.Row) int64 {
	freeCPU, freeMem := r.AllocCPU-r.ScoringCPU-s.scoringCPU, r.AllocMem-r.ScoringMem-s.scoringMem
	if uint64(freeCPU|freeMem|r.AllocCPU|r.AllocMem) >= maxExactAmount || r.AllocCPU == 0 || r.AllocMem == 0 {
		return -1 // negative, very large or zero amounts
	}
	cpu, mem := float64(r.AllocCPU), float64(r.AllocMem)
	least := int64(float64(freeCPU*100)/cpu) + int64(float64(freeMem*100)/mem)
	if s.balanceWeight == 0 {
		return s.fitWeight * (least / 2)
	}
	a, b := 1.0, 1.0
	if used := r.UsedCPU + s.requests.MilliCPU; used < r.AllocCPU {
		a = float64(used) / cpu
	}
	if used := r.UsedMem + s.requests.Memory; used < r.AllocMem {
		b = float64(used) / mem
	}
	return s.fitWeight*(least/2) + s.balanceWeight*(50+(50+balanceOf(a, b)-int64(r.Balance))/2)
}

// leastAllocatedCPUMem returns the LeastAllocated score over cpu and memory with equal
// weights.
func leastAllocatedCPUMem(r *cluster.Row, cpu, mem int64) int64 {
	switch {
	case r.AllocCPU == 0 && r.AllocMem == 0:
		return 0
	case r.AllocCPU == 0:
		return freePercent(r.ScoringMem+mem, r.AllocMem)
	case r.AllocMem == 0:
		return freePercent(r.ScoringCPU+cpu, r.AllocCPU)
	}
	return (freePercent(r.ScoringCPU+cpu, r.AllocCPU) + freePercent(r.ScoringMem+mem, r.AllocMem)) / 2
}

// maxExactAmount is the limit up to which 100 times an amount is exact as a float64, so
// that truncated floating-point division equals integer division.
const maxExactAmount = 1 << 46

func freePercent(used, allocatable int64) int64 {
	if used > allocatable {
		return 0
	}
	if remaining := allocatable - used; remaining < maxExactAmount && allocatable < maxExactAmount {
		return int64(float64(remaining*100) / float64(allocatable))
	}
	return (allocatable - used) * 100 / allocatable
}

// balancedCPUMem returns the balance score over cpu and memory with the operations of
// scoreBalancedAllocation.
func balancedCPUMem(r *cluster.Row, cpu, mem int64) int64 {
	if r.AllocCPU == 0 || r.AllocMem == 0 {
		return 50 + (50+100-100)/2
	}
	balance := balanceOf(usedPart(r.UsedCPU+cpu, r.AllocCPU), usedPart(r.UsedMem+mem, r.AllocMem))
	return 50 + (50+balance-int64(r.Balance))/2
}

// usedPart is plugins.usedFraction in a form that compiles to fewer instructions.
// allocatable must not be 0.
func usedPart(used, allocatable int64) float64 {
	if used >= allocatable {
		return 1
	}
	return float64(used) / float64(allocatable)
}

func balanceOf(a, b float64) int64 {
	std := math.Abs((a - b) / 2)
	return int64(float64((1 - std) * 100))
}
