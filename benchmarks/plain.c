/* The learners as a C programmer would first write them: one round after another, one loop per sum.

   A row of a dense matrix is d numbers. A row of a CSR matrix is the entries indptr[i] to indptr[i + 1] of
   `data` and `columns`. Every function returns the number of mistakes. Compiled with -ffast-math, so the
   compiler may use fused multiply-add and sum in any order. */

#include <math.h>
#include <stdint.h>

enum rule { AROW, SCW1, PERCEPTRON, PA1 };

/* alpha and beta of AROW with r = 1, and of SCW-I with C = 1 and eta = 0.75. */
static inline void step(enum rule rule, double m, double v, double *alpha, double *beta)
{
    const double phi = 0.6744897501960817, psi = 1 + phi * phi / 2, zeta = 1 + phi * phi;
    *alpha = *beta = 0;
    if (rule == AROW) {
        *beta = 1 / (v + 1);
        *alpha = (1 - m) * *beta;
    } else if (m < phi * sqrt(v)) {
        double free = (-m * psi + sqrt(m * m * phi * phi * phi * phi / 4 + v * phi * phi * zeta)) / (v * zeta);
        *alpha = free < 1 ? free : 1;
        double u = (-*alpha * v * phi + sqrt(*alpha * *alpha * v * v * phi * phi + 4 * v)) / 2;
        *beta = *alpha * phi / (u + v * *alpha * phi);
    }
}

static inline double tau(enum rule rule, double m, double s)
{
    if (rule == PERCEPTRON)
        return 1;
    double free = (1 - m) / s;
    return free < 1 ? free : 1;
}

static inline int64_t full_dense(enum rule rule, int64_t n, int64_t d, const double *X, const double *y,
                                 const int64_t *order, double *mu, double *sigma, double *z)
{
    int64_t mistakes = 0;
    for (int64_t t = 0; t < n; t++) {
        const double *x = X + order[t] * d, label = y[order[t]];
        double f = 0, v = 0, alpha, beta;
        for (int64_t j = 0; j < d; j++)
            f += mu[j] * x[j];
        mistakes += (f >= 0) != (label > 0);
        if (rule == AROW && label * f >= 1)
            continue;
        for (int64_t i = 0; i < d; i++) {
            double sum = 0;
            for (int64_t j = 0; j < d; j++)
                sum += sigma[i * d + j] * x[j];
            z[i] = sum;
        }
        for (int64_t j = 0; j < d; j++)
            v += x[j] * z[j];
        step(rule, label * f, v, &alpha, &beta);
        if (alpha <= 0)
            continue;
        for (int64_t j = 0; j < d; j++)
            mu[j] += alpha * label * z[j];
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                sigma[i * d + j] -= beta * z[i] * z[j];
    }
    return mistakes;
}

static inline int64_t full_sparse(enum rule rule, int64_t n, int64_t d, const double *data,
                                  const int32_t *columns, const int64_t *indptr, const double *y,
                                  const int64_t *order, double *mu, double *sigma, double *z)
{
    int64_t mistakes = 0;
    for (int64_t t = 0; t < n; t++) {
        int64_t begin = indptr[order[t]], end = indptr[order[t] + 1];
        double label = y[order[t]], f = 0, v = 0, alpha, beta;
        for (int64_t k = begin; k < end; k++)
            f += mu[columns[k]] * data[k];
        mistakes += (f >= 0) != (label > 0);
        if (rule == AROW && label * f >= 1)
            continue;
        for (int64_t k = begin; k < end; k++)
            for (int64_t l = begin; l < end; l++)
                v += data[k] * sigma[columns[k] * d + columns[l]] * data[l];
        step(rule, label * f, v, &alpha, &beta);
        if (alpha <= 0)
            continue;
        for (int64_t j = 0; j < d; j++)
            z[j] = 0;
        for (int64_t k = begin; k < end; k++)
            for (int64_t j = 0; j < d; j++)
                z[j] += data[k] * sigma[columns[k] * d + j];
        for (int64_t j = 0; j < d; j++)
            mu[j] += alpha * label * z[j];
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                sigma[i * d + j] -= beta * z[i] * z[j];
    }
    return mistakes;
}

static inline int64_t first_dense(enum rule rule, int64_t n, int64_t d, const double *X, const double *y,
                                  const int64_t *order, double *w)
{
    int64_t mistakes = 0;
    for (int64_t t = 0; t < n; t++) {
        const double *x = X + order[t] * d, label = y[order[t]];
        double f = 0, s = 0;
        for (int64_t j = 0; j < d; j++)
            f += w[j] * x[j];
        int mistake = (f >= 0) != (label > 0);
        mistakes += mistake;
        if (rule == PERCEPTRON ? !mistake : label * f >= 1)
            continue;
        if (rule == PA1)
            for (int64_t j = 0; j < d; j++)
                s += x[j] * x[j];
        double size = label * tau(rule, label * f, s);
        for (int64_t j = 0; j < d; j++)
            w[j] += size * x[j];
    }
    return mistakes;
}

static inline int64_t first_sparse(enum rule rule, int64_t n, const double *data, const int32_t *columns,
                                   const int64_t *indptr, const double *y, const int64_t *order, double *w)
{
    int64_t mistakes = 0;
    for (int64_t t = 0; t < n; t++) {
        int64_t begin = indptr[order[t]], end = indptr[order[t] + 1];
        double label = y[order[t]], f = 0, s = 0;
        for (int64_t k = begin; k < end; k++)
            f += w[columns[k]] * data[k];
        int mistake = (f >= 0) != (label > 0);
        mistakes += mistake;
        if (rule == PERCEPTRON ? !mistake : label * f >= 1)
            continue;
        if (rule == PA1)
            for (int64_t k = begin; k < end; k++)
                s += data[k] * data[k];
        double size = label * tau(rule, label * f, s);
        for (int64_t k = begin; k < end; k++)
            w[columns[k]] += size * data[k];
    }
    return mistakes;
}

/* A diagonal covariance: every precision grows by c x^2, with c = beta / (1 - beta v). */
static inline int64_t diagonal_sparse(enum rule rule, int64_t n, const double *data, const int32_t *columns,
                                      const int64_t *indptr, const double *y, const int64_t *order,
                                      double *mu, double *sigma)
{
    int64_t mistakes = 0;
    for (int64_t t = 0; t < n; t++) {
        int64_t begin = indptr[order[t]], end = indptr[order[t] + 1];
        double label = y[order[t]], f = 0, v = 0, alpha, beta;
        for (int64_t k = begin; k < end; k++)
            f += mu[columns[k]] * data[k];
        mistakes += (f >= 0) != (label > 0);
        if (rule == AROW && label * f >= 1)
            continue;
        for (int64_t k = begin; k < end; k++)
            v += sigma[columns[k]] * data[k] * data[k];
        step(rule, label * f, v, &alpha, &beta);
        if (alpha <= 0)
            continue;
        double c = beta / (1 - beta * v);
        for (int64_t k = begin; k < end; k++) {
            int32_t j = columns[k];
            mu[j] += alpha * label * sigma[j] * data[k];
            sigma[j] /= 1 + c * sigma[j] * data[k] * data[k];
        }
    }
    return mistakes;
}

#define DENSE int64_t n, int64_t d, const double *X, const double *y, const int64_t *order
#define SPARSE int64_t n, int64_t d, const double *data, const int32_t *columns, const int64_t *indptr, \
    const double *y, const int64_t *order
#define FULL(name, rule) \
    int64_t name##_dense(DENSE, double *mu, double *sigma, double *z) \
    { return full_dense(rule, n, d, X, y, order, mu, sigma, z); } \
    int64_t name##_sparse(SPARSE, double *mu, double *sigma, double *z) \
    { return full_sparse(rule, n, d, data, columns, indptr, y, order, mu, sigma, z); } \
    int64_t name##_diagonal(SPARSE, double *mu, double *sigma, double *z) \
    { return diagonal_sparse(rule, n, data, columns, indptr, y, order, mu, sigma); }
#define FIRST(name, rule) \
    int64_t name##_dense(DENSE, double *w, double *sigma, double *z) \
    { return first_dense(rule, n, d, X, y, order, w); } \
    int64_t name##_sparse(SPARSE, double *w, double *sigma, double *z) \
    { return first_sparse(rule, n, data, columns, indptr, y, order, w); }

FULL(arow, AROW)
FULL(scw1, SCW1)
FIRST(perceptron, PERCEPTRON)
FIRST(pa1, PA1)
