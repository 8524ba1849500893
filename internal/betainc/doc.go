// Package betainc computes the regularized incomplete beta function, from which the
// distributions of Student's t and of binomial counts follow.
package betainc
