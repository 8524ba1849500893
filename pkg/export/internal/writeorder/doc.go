// Package writeorder checks the order of the calls of an export.Writer.
package writeorder
