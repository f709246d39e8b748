/** Special functions of real numbers, in double precision. */
#pragma once

namespace tl {

double erfinv(double x);
/** The inverse of the normal distribution function. */
double ndtri(double p);
double logGamma(double x);
double digamma(double x);
/** Lower and upper regularized incomplete gamma functions. */
double igamma(double a, double x);
double igammac(double a, double x);
/** Hurwitz zeta: the sum of (k + q)^-x over k >= 0. */
double zeta(double x, double q);
double polygamma(double n, double x);

}  // namespace tl
