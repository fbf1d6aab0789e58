package explain

import "time"

// TextOptions controls how a report is printed as text.
type TextOptions struct {
	Now   time.Time
	Limit int  // maximum rows of a table; 0 for all
	Wide  bool // more columns
}

// limit returns how many of n rows to show.
func (o TextOptions) limit(n int) int {
	if o.Limit > 0 {
		return min(n, o.Limit)
	}
	return n
}
