// Package table writes text that fits a terminal of 80 columns: tables, some columns of which are for wide output only,
// and wrapped lines.
package table
