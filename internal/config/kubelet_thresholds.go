package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/intake"
)

// Eviction are the eviction thresholds of a KubeletConfiguration, by signal.
type Eviction struct {
	Hard, Soft, SoftGracePeriod, MinimumReclaim map[string]string
}

// enforcePods is the value of enforceNodeAllocatable that bounds all pods together.
const enforcePods = "pods"

// Thresholds are the eviction thresholds, hard ones first, each kind by signal. With "pods" among
// enforce, hard thresholds of the node's memory hold for that of all pods together, too.
// The errors are in the kubelet's words (conformance/eviction, family parse), with the
// field that they are about in front if that is asked for.
func (e *Eviction) Thresholds(enforce []string, fields bool) ([]pressure.Threshold, error) {
	in := func(field string, err error) error {
		if err != nil && fields {
			return fmt.Errorf("%s: %w", field, err)
		}
		return err
	}
	hard, err := statements(e.Hard)
	if err != nil {
		return nil, in("evictionHard", err)
	}
	soft, err := statements(e.Soft)
	if err != nil {
		return nil, in("evictionSoft", err)
	}
	graces, err := gracePeriods(e.SoftGracePeriod)
	if err != nil {
		return nil, in("evictionSoftGracePeriod", err)
	}
	reclaims, err := minimumReclaims(e.MinimumReclaim)
	if err != nil {
		return nil, in("evictionMinimumReclaim", err)
	}
	for i := range soft {
		grace, given := graces[soft[i].Signal]
		if !given {
			return nil, in("evictionSoft", fmt.Errorf("grace period must be specified for the soft eviction threshold %s", soft[i].Signal))
		}
		soft[i].Grace = grace
	}
	all := append(hard, soft...)
	for i := range all {
		if v, given := reclaims[all[i].Signal]; given {
			all[i].MinReclaim = &v
		}
	}
	if slices.Contains(enforce, enforcePods) {
		for _, t := range all {
			if t.Hard() && t.Signal == pressure.MemoryAvailable {
				t.Signal = pressure.AllocatableMemoryAvailable
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// statements are thresholds by signal, without grace periods.
func statements(of map[string]string) (out []pressure.Threshold, err error) {
	for _, name := range sortedKeys(of) {
		s, err := signal(name)
		if err != nil {
			return nil, err
		}
		v, given, err := threshold(s, of[name])
		if err != nil {
			return nil, err
		}
		if given {
			out = append(out, pressure.Threshold{Signal: s, Value: v})
		}
	}
	return out, nil
}

func signal(name string) (pressure.Signal, error) {
	s, ok := pressure.ParseSignal(name)
	if !ok {
		return 0, fmt.Errorf("unsupported eviction signal %s", name)
	}
	return s, nil
}

// threshold reads a quantity or a percentage; 0% and 100% switch the threshold off.
func threshold(s pressure.Signal, text string) (v pressure.Value, given bool, err error) {
	if text == "0%" || text == "100%" {
		return v, false, nil
	}
	if strings.HasSuffix(text, "%") {
		share, err := percentage(text)
		switch {
		case err != nil:
			return v, false, err
		case share < 0:
			return v, false, fmt.Errorf("eviction percentage threshold %s must be >= 0%%: %s", s, text)
		case !(share <= 1):
			return v, false, fmt.Errorf("eviction percentage threshold %s must be <= 100%%: %s", s, text)
		}
		return pressure.Value{Percentage: share}, share > 0, nil
	}
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return v, false, err
	case q.Sign() <= 0:
		return v, false, fmt.Errorf("eviction threshold %s must be positive: %s", s, text)
	}
	return pressure.Value{Quantity: intake.PressureQuantity(q)}, true, nil
}

// percentage is the fraction that a percentage stands for, in 32 bits as upstream.
func percentage(text string) (float32, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 32)
	if err != nil {
		return 0, err
	}
	return float32(v) / 100, nil
}

func gracePeriods(of map[string]string) (map[pressure.Signal]time.Duration, error) {
	out := map[pressure.Signal]time.Duration{}
	for _, name := range sortedKeys(of) {
		s, err := signal(name)
		if err != nil {
			return nil, err
		}
		d, err := time.ParseDuration(of[name])
		if err != nil {
			return nil, err
		}
		if d < 0 {
			return nil, fmt.Errorf("invalid eviction grace period specified: %s, must be a positive value", of[name])
		}
		out[s] = d
	}
	return out, nil
}

func minimumReclaims(of map[string]string) (map[pressure.Signal]pressure.Value, error) {
	out := map[pressure.Signal]pressure.Value{}
	for _, name := range sortedKeys(of) {
		s, err := signal(name)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(of[name], "%") {
			share, err := percentage(of[name])
			switch {
			case err != nil:
				return nil, err
			case !(share > 0):
				return nil, fmt.Errorf("eviction percentage minimum reclaim %s must be positive: %s", s, of[name])
			case share > 1:
				return nil, fmt.Errorf("eviction percentage minimum reclaim %s must be <= 100%%: %s", s, of[name])
			}
			out[s] = pressure.Value{Percentage: share}
			continue
		}
		q, err := resource.ParseQuantity(of[name])
		if err != nil {
			return nil, err
		}
		if q.Sign() < 0 {
			return nil, fmt.Errorf("negative eviction minimum reclaim specified for %s", s)
		}
		out[s] = pressure.Value{Quantity: intake.PressureQuantity(q)}
	}
	return out, nil
}
