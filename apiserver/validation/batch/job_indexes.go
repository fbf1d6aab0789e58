package batch

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxIndexesLength is the maximum length of succeededIndexes in bytes.
const maxIndexesLength = 64 * 1024

// validateSucceededIndexes validates a list such as "1,3-5": ascending, without overlap and below
// completions.
func validateSucceededIndexes(rule batchv1.SuccessPolicyRule, completions *int32, path *field.Path) field.ErrorList {
	text, childPath := *rule.SucceededIndexes, path.Child("succeededIndexes")
	if len(text) > maxIndexesLength {
		return field.ErrorList{field.TooLong(childPath, "", maxIndexesLength)}
	}
	var limit int32
	if completions != nil {
		limit = *completions
	}
	total, err := countIndexes(text, limit)
	if err != nil {
		return field.ErrorList{field.Invalid(childPath, text, "error parsing succeededIndexes: "+err.Error())}
	}
	if n := rule.SucceededCount; n != nil && *n > total {
		return field.ErrorList{field.Invalid(path.Child("succeededCount"), *n,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))}
	}
	return nil
}

// countIndexes returns the number of indexes in a list. Indexes must be below limit.
func countIndexes(text string, limit int32) (int32, error) {
	if text == "" {
		return 0, nil
	}
	total, last := int32(0), int64(-1)
	for _, interval := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(interval, "-")
		if !isRange {
			to = from
		}
		first, err := parseIndex(from, limit)
		if err != nil {
			return 0, err
		}
		end, err := parseIndex(to, limit)
		switch {
		case err != nil:
			return 0, err
		case first <= last:
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, first)
		case isRange && first >= end:
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", first, end)
		}
		total += int32(end-first) + 1
		last = end
	}
	return total, nil
}

func parseIndex(text string, limit int32) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	}
	if n >= int64(limit) {
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return n, nil
}
