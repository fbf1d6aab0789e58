package nodepressure

import "strconv"

// Quantity is an amount, in bytes or counts, as Kubernetes prints it.
type Quantity struct {
	Amount int64
	Format Format
}

// Format is the notation of a quantity.
type Format uint8

// The notations.
const (
	Binary   Format = iota // 512Mi
	Decimal                // 512M
	Exponent               // 512e6
)

// Bytes returns an amount printed by powers of 1024.
func Bytes(n int64) Quantity { return Quantity{Amount: n} }

var suffixes = [2][]string{{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}, {"", "k", "M", "G", "T", "P", "E"}}

// String returns the shortest exact form: the largest suffix that leaves a whole number.
func (q Quantity) String() string {
	n, times := q.Amount, 0
	base := int64(1000)
	if q.Format == Binary && (n <= -1024 || n >= 1024) {
		base = 1024
	}
	for n != 0 && n%base == 0 && times < 6 {
		n, times = n/base, times+1
	}
	switch {
	case base == 1024:
		return strconv.FormatInt(n, 10) + suffixes[0][times]
	case q.Format == Exponent && times > 0:
		return strconv.FormatInt(n, 10) + "e" + strconv.Itoa(3*times)
	}
	return strconv.FormatInt(n, 10) + suffixes[1][times]
}
