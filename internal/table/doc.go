// Package table writes tables of text, some columns of which are for wide output only.
package table
