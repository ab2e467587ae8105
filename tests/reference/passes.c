/* One online pass of every algorithm, in plain loops, as its paper writes it.

   Nothing is carried from round to round but the state of the paper: ||w||^2 is summed from w, a mean of weights
   from all of them, S w is multiplied anew. The type of all numbers is REAL, long double unless the compiler is told
   otherwise.

   Every pass can be evaluated in two ways, which are the same in exact numbers: the second (`other`) takes all sums
   from their last term to their first. A full covariance also has two forms. Rounds at which two ways part are beyond
   this arithmetic. Of the two forms of the root of a quadratic equation, always the one that does not cancel is used,
   as CW shrinks v below any bound. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#ifndef REAL
#define REAL long double
#endif
typedef REAL real;

static const real TOLERANCE = 1e-12L; /* a smaller share of the larger term is no loss */

typedef struct {
    int64_t n;
    const double *value;
    const int64_t *column;
    real s; /* ||x||^2 */
} row;

typedef struct {
    int64_t d, updates, breakdowns;
    int other;
    const real *p;
    real *w;     /* w, or mu */
    real *total; /* of w over the rounds, for the averaged learners */
    real *theta; /* the sum of y x, where a paper keeps it beside mu; minus a sum or mean of gradients */
    real *sigma; /* Sigma, its root A with Sigma = A'A, its diagonal, or the diagonal of its inverse */
    real *z, *a; /* Sigma x and A x; the z of FTRL, and sums or means of squared gradients */
} learner;

/* ---- sums ---- */

static int64_t place(int64_t k, int64_t n, int other) { return other ? n - 1 - k : k; }

static real dot(const real *w, const row *x, int other) {
    real sum = 0;
    for (int64_t k = 0; k < x->n; k++) {
        int64_t e = place(k, x->n, other);
        sum += w[x->column[e]] * x->value[e];
    }
    return sum;
}

static real squared_length(const real *w, int64_t d, int other) {
    real sum = 0;
    for (int64_t k = 0; k < d; k++) {
        int64_t j = place(k, d, other);
        sum += w[j] * w[j];
    }
    return sum;
}

static void add_row(real *w, real factor, const row *x) {
    for (int64_t k = 0; k < x->n; k++) w[x->column[k]] += factor * x->value[k];
}

static real larger(real a, real b) { return a > b ? a : b; }

static real smaller(real a, real b) { return a < b ? a : b; }

static real lost(real wanted, real got) {
    real loss = wanted - got;
    return loss > TOLERANCE * larger(fabs(wanted), fabs(got)) ? loss : 0;
}

/* ---- first order: each rule changes w and returns whether the round counts as an update ---- */

typedef int first_order_rule(learner *, const row *, real y, real f, int mistake, int64_t t);

static int perceptron(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    if (mistake) add_row(l->w, y, x);
    return mistake;
}

static int margin_perceptron(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    if (y * f > l->p[0]) return 0;
    add_row(l->w, y, x);
    return 1;
}

static int pa(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real loss = lost(1, y * f);
    if (loss > 0 && x->s > 0) add_row(l->w, loss / x->s * y, x);
    return loss > 0;
}

static int pa1(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real loss = lost(1, y * f);
    if (loss > 0 && x->s > 0) add_row(l->w, smaller(l->p[0], loss / x->s) * y, x);
    return loss > 0;
}

static int pa2(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real loss = lost(1, y * f);
    if (loss > 0) add_row(l->w, loss / (x->s + 1 / (2 * l->p[0])) * y, x);
    return loss > 0;
}

static void relax(learner *l, const row *x, real y, real f) {
    real s = x->s, q = squared_length(l->w, l->d, l->other);
    if (s == 0) return;
    if (q == 0) {
        add_row(l->w, y, x);
        return;
    }
    real bottom = s * q - f * f;
    if (bottom <= TOLERANCE * s * q) return;
    real c = (s * q - y * f) / bottom;
    for (int64_t j = 0; j < l->d; j++) l->w[j] *= c;
    add_row(l->w, q * (y - f) / bottom, x);
}

static int romma(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    if (mistake) relax(l, x, y, f);
    return mistake;
}

static int aromma(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real loss = lost(1, y * f);
    if (loss > 0) relax(l, x, y, f);
    return loss > 0;
}

static int alma(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real norm = sqrt(x->s), alpha = l->p[0], k = l->updates + 1;
    if (norm == 0) return mistake;
    if (y * f / norm > (1 - alpha) * sqrt((real)8) / (alpha * sqrt(k))) return 0;
    add_row(l->w, l->p[1] / sqrt(k) * y / norm, x);
    real length = sqrt(squared_length(l->w, l->d, l->other));
    if (length > 1)
        for (int64_t j = 0; j < l->d; j++) l->w[j] /= length;
    return 1;
}

static int ogd(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real rate = l->p[0] / sqrt((real)t), m = y * f, loss, slope;
    switch ((int)l->p[1]) {
    case 0: /* hinge */
        loss = lost(1, m), slope = loss > 0;
        break;
    case 1: /* logistic */
        loss = m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
        if (loss <= TOLERANCE) return 0;
        slope = 1 / (1 + exp(m));
        break;
    case 2: /* squared */
        slope = lost(1, m) - lost(m, 1), loss = slope * slope / 2;
        break;
    default: /* zero-one */
        loss = slope = mistake;
    }
    add_row(l->w, rate * slope * y, x);
    return loss > 0;
}

static int sgd(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real lam = l->p[1], m = y * f;
    real rate = l->p[2] == 0 ? l->p[0] / sqrt((real)t) : 1 / (lam * t);
    real slope = m < -1 ? 4 : 2 * lost(1, m); /* of the modified Huber loss */
    if (x->s > 0) {
        for (int64_t j = 0; j < l->d; j++) l->w[j] -= rate * lam * l->w[j];
        add_row(l->w, rate * slope * y, x);
    }
    return slope > 0;
}

/* ---- a step size for each feature, and penalties that move all weights in every round ---- */

static real soften(real value, real amount) {
    return fabs(value) <= amount ? 0 : value > 0 ? value - amount : value + amount;
}

/* minus the derivative of the logistic loss at the margin m; 0 where doubles have nothing smaller */
static real logistic_slope(real m) {
    real slope = 1 / (1 + exp(m));
    return (double)slope > 0 ? slope : 0;
}

static int adagrad(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real eta = l->p[0], delta = l->p[1], loss = lost(1, y * f);
    for (int64_t k = 0; k < x->n && loss > 0; k++) {
        int64_t j = x->column[k];
        real gradient = -y * x->value[k];
        l->a[j] += gradient * gradient;
        l->w[j] -= eta * gradient / (delta + sqrt(l->a[j]));
    }
    return loss > 0;
}

static int adagrad_da(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real eta = l->p[0], delta = l->p[1], lam = l->p[2], loss = lost(1, y * f);
    for (int64_t k = 0; k < x->n && loss > 0; k++) l->a[x->column[k]] += (real)x->value[k] * x->value[k];
    if (loss > 0) add_row(l->theta, y, x);
    for (int64_t j = 0; j < l->d; j++) l->w[j] = eta * soften(l->theta[j], lam * t) / (delta + sqrt(l->a[j]));
    return loss > 0;
}

static int ftrl(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real alpha = l->p[0], beta = l->p[1], l1 = l->p[2], l2 = l->p[3], slope = logistic_slope(y * f);
    for (int64_t k = 0; k < x->n && slope > 0; k++) {
        int64_t j = x->column[k];
        real gradient = -y * slope * x->value[k], sum = l->a[j] + gradient * gradient;
        l->z[j] += gradient - (sqrt(sum) - sqrt(l->a[j])) / alpha * l->w[j];
        l->a[j] = sum;
        l->w[j] = -soften(l->z[j], l1) / ((beta + sqrt(sum)) / alpha + l2);
    }
    return slope > 0;
}

/* Adam as for sparse gradients: a feature that is zero keeps its weight and its means. */
static int adam(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real alpha = l->p[0], b1 = l->p[1], b2 = l->p[2], slope = logistic_slope(y * f);
    for (int64_t k = 0; k < x->n && slope > 0; k++) {
        int64_t j = x->column[k];
        real gradient = -y * slope * x->value[k];
        l->theta[j] = b1 * l->theta[j] + (1 - b1) * gradient;
        l->a[j] = b2 * l->a[j] + (1 - b2) * gradient * gradient;
        real mean = l->theta[j] / (1 - pow(b1, (real)t)), square = l->a[j] / (1 - pow(b2, (real)t));
        l->w[j] -= alpha * mean / (sqrt(square) + l->p[3]);
    }
    return slope > 0;
}

static int truncated_gradient(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real eta = l->p[0], gravity = l->p[1], K = l->p[2], theta = l->p[3], slope = logistic_slope(y * f);
    add_row(l->w, eta * slope * y, x);
    if (floor(t / K) > floor((t - 1) / K))
        for (int64_t j = 0; j < l->d; j++)
            if (fabs(l->w[j]) <= theta) l->w[j] = soften(l->w[j], K * eta * gravity);
    return slope > 0;
}

static int fobos(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real eta = l->p[0] / sqrt((real)t), loss = lost(1, y * f);
    if (loss > 0) add_row(l->w, eta * y, x);
    for (int64_t j = 0; j < l->d; j++) l->w[j] = soften(l->w[j], l->p[1] * eta);
    return loss > 0;
}

static int rda(learner *l, const row *x, real y, real f, int mistake, int64_t t) {
    real slope = logistic_slope(y * f);
    add_row(l->theta, slope * y, x);
    for (int64_t j = 0; j < l->d; j++) l->w[j] = soften(l->theta[j], l->p[1] * t) / (l->p[0] * sqrt((real)t));
    return slope > 0;
}

static const struct {
    const char *id;
    first_order_rule *learn;
} FIRST_ORDER[] = {
    {"perceptron", perceptron}, {"margin-perceptron", margin_perceptron}, {"pa", pa}, {"pa1", pa1}, {"pa2", pa2},
    {"romma", romma}, {"aromma", aromma}, {"alma", alma}, {"ogd", ogd}, {"sgd", sgd},
    {"averaged-perceptron", perceptron}, {"averaged-pa", pa}, {"averaged-pa1", pa1}, {"adagrad", adagrad},
    {"adagrad-da", adagrad_da}, {"ftrl", ftrl}, {"adam", adam}, {"tg", truncated_gradient}, {"fobos", fobos},
    {"rda", rda},
};

/* ---- second order: mu += alpha y z, Sigma -= beta z z', that is Sigma^-1 += c x x' ---- */

enum { CW, CW_VAR, SCW1, SCW2, SCW2_LIBOL, AROW, NHERD, NAROW, NAROW2010, ONS, SOP, SOP_LIBOL, IELLIP };
static const char *SECOND_ORDER[] = {"cw", "cw-var", "scw1", "scw2", "scw2-libol", "arow", "nherd", "narow",
                                     "narow2010", "ons", "sop", "sop-libol", "iellip"};

typedef struct {
    real alpha, beta, c;
} step;

static real find_loss(int rule, real m, real v, int mistake, const real *p) {
    if (rule == CW) return lost(p[0] * sqrt(v), m);
    if (rule == CW_VAR) return lost(p[0] * v, m);
    if (rule <= SCW2_LIBOL) return lost(p[1] * sqrt(v), m);
    if (rule == ONS) return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
    return rule >= SOP ? mistake : lost(1, m);
}

static real cw_alpha(real m, real v, real phi) {
    real psi = 1 + phi * phi / 2, zeta = 1 + phi * phi;
    real root = sqrt(m * m * phi * phi * phi * phi / 4 + v * phi * phi * zeta);
    if (m <= 0) return larger(0, (-m * psi + root) / (v * zeta));
    return (phi * sqrt(v) - m) * (phi * sqrt(v) + m) / (v * (m * psi + root));
}

static real cw_var_alpha(real m, real v, real phi) {
    real b = 1 + 2 * phi * m, root = sqrt(b * b - 8 * phi * (m - phi * v));
    if (b <= 0) return larger(0, (-b + root) / (4 * phi * v));
    return 2 * (phi * v - m) / (v * (b + root));
}

static real scw2_alpha(real m, real v, real C, real phi) {
    real n = v + 1 / (2 * C), b = 2 * m * n + phi * phi * m * v;
    real g = phi * sqrt(phi * phi * m * m * v * v + 4 * n * v * (n + v * phi * phi));
    if (m <= 0) return larger(0, (-b + g) / (2 * (n * n + n * v * phi * phi)));
    return 2 * (phi * sqrt(v) - m) * (phi * sqrt(v) + m) / (g + b);
}

static real scw2_libol_alpha(real m, real v, real C, real phi) {
    real n = v + 1 / (2 * C), b = 2 * m * n + phi * phi * m * v;
    real g = sqrt(2 * phi * phi * phi * phi * m * m * v + 4 * n * v * phi * phi * (n + 2 * phi * v));
    return larger(0, (-b + g) / (2 * (n * n + n * v * phi * phi)));
}

/* beta and c of cw and its kin: sqrt(u) is the deviation along x after the step */
static step confident(real alpha, real v, real phi) {
    real k = alpha * v * phi, deviation = 2 * v / (k + sqrt(k * k + 4 * v));
    return (step){alpha, alpha * phi / (deviation + k), alpha * phi / deviation};
}

static step find_step(int rule, real m, real v, real loss, int64_t t, const real *p) {
    real alpha, r, C = p[0], shrinkage;
    switch (rule) {
    case CW:
        return confident(cw_alpha(m, v, p[0]), v, p[0]);
    case SCW1:
        return confident(smaller(C, cw_alpha(m, v, p[1])), v, p[1]);
    case SCW2:
        return confident(scw2_alpha(m, v, C, p[1]), v, p[1]);
    case SCW2_LIBOL:
        return confident(scw2_libol_alpha(m, v, C, p[1]), v, p[1]);
    case CW_VAR:
        alpha = cw_var_alpha(m, v, p[0]);
        return (step){alpha, 2 * alpha * p[0] / (1 + 2 * alpha * p[0] * v), 2 * alpha * p[0]};
    case AROW:
        return (step){loss / (v + p[0]), 1 / (v + p[0]), 1 / p[0]};
    case NHERD:
        return (step){loss / (v + 1 / C), (v + 2 / C) / ((v + 1 / C) * (v + 1 / C)), C * (2 + C * v)};
    case NAROW:
    case NAROW2010: /* narow2010 has no use for alpha: its mu is Sigma theta */
        if (v <= 1 / p[0]) return (step){0, 0, 0};
        r = v / (p[0] * v - 1);
        return (step){loss / (v + r), 1 / (v + r), 1 / r};
    case ONS: /* A grows by g g', and w moves by A^-1 g / gamma */
        r = 1 / (1 + exp(m));
        return (step){r / (p[0] * (1 + r * r * v)), r * r / (1 + r * r * v), r * r};
    case SOP:
    case SOP_LIBOL:
        return (step){0, 1 / (1 + v), 1};
    default: /* iellip */
        shrinkage = p[1] * pow(p[0], (real)(t - 1));
        return (step){(1 - m) / v, shrinkage / v, shrinkage / ((1 - shrinkage) * v)};
    }
}

/* ---- full covariance, as Sigma itself or as A with Sigma = A'A ---- */

static real sigma_variance(learner *l, const row *x) {
    real v = 0;
    for (int64_t i = 0; i < x->n; i++) {
        int64_t e = place(i, x->n, l->other);
        v += x->value[e] * dot(l->sigma + x->column[e] * l->d, x, l->other);
    }
    return v;
}

static void sigma_times(learner *l, const row *x, real *z) {
    memset(z, 0, l->d * sizeof(real));
    for (int64_t k = 0; k < x->n; k++) {
        int64_t e = place(k, x->n, l->other);
        const real *line = l->sigma + x->column[e] * l->d;
        for (int64_t j = 0; j < l->d; j++) z[j] += x->value[e] * line[j];
    }
}

/* sqrt(beta) z on both sides: the same product for both triangles */
static void sigma_shrink(learner *l, real beta, real divisor) {
    real root = sqrt(beta);
    for (int64_t j = 0; j < l->d; j++) l->a[j] = root * l->z[j];
    for (int64_t i = 0; i < l->d; i++) {
        real *line = l->sigma + i * l->d, factor = l->a[i];
        if (factor != 0)
            for (int64_t j = 0; j < l->d; j++) line[j] -= factor * l->a[j];
        if (divisor != 1)
            for (int64_t j = 0; j < l->d; j++) line[j] /= divisor;
    }
}

static real root_variance(learner *l, const row *x) {
    for (int64_t i = 0; i < l->d; i++) l->a[i] = dot(l->sigma + i * l->d, x, l->other);
    return squared_length(l->a, l->d, l->other);
}

static void root_times(learner *l, const real *a, real *z) {
    memset(z, 0, l->d * sizeof(real));
    for (int64_t k = 0; k < l->d; k++) {
        int64_t i = place(k, l->d, l->other);
        const real *line = l->sigma + i * l->d;
        for (int64_t j = 0; j < l->d; j++) z[j] += a[i] * line[j];
    }
}

/* A -= g a z' with g = (1 - sqrt(1 - beta v)) / v, 1 - beta v = 1 / (1 + c v) */
static void root_shrink(learner *l, real c, real v, real divisor) {
    real h = sqrt(1 + c * v), g = c / (h * (h + 1)), root = sqrt(divisor);
    for (int64_t i = 0; i < l->d; i++) {
        real *line = l->sigma + i * l->d, factor = g * l->a[i];
        for (int64_t j = 0; j < l->d; j++) line[j] -= factor * l->z[j];
        if (divisor != 1)
            for (int64_t j = 0; j < l->d; j++) line[j] /= root;
    }
}

/* mu = Sigma theta, from theta */
static void multiply_theta(learner *l, int root) {
    real *product = l->w;
    if (root) {
        for (int64_t i = 0; i < l->d; i++) {
            l->a[i] = 0;
            for (int64_t j = 0; j < l->d; j++) l->a[i] += l->sigma[i * l->d + j] * l->theta[j];
        }
        root_times(l, l->a, product);
        return;
    }
    for (int64_t i = 0; i < l->d; i++) {
        product[i] = 0;
        for (int64_t k = 0; k < l->d; k++) {
            int64_t j = place(k, l->d, l->other);
            product[i] += l->sigma[i * l->d + j] * l->theta[j];
        }
    }
}

static int full_round(learner *l, int rule, int root, const row *x, real y, real f, int mistake, int64_t t) {
    real m = y * f;
    int keeps_theta = rule == SOP || rule == SOP_LIBOL || rule == NAROW2010;
    /* these losses do not ask for v */
    if (rule >= AROW && rule != SOP_LIBOL && find_loss(rule, m, 0, mistake, l->p) == 0) return 0;
    real v = root ? root_variance(l, x) : sigma_variance(l, x);
    if (x->n > 0 && !(v > 0 && isfinite(v))) l->breakdowns++, v = 0;
    real loss = find_loss(rule, m, v, mistake, l->p);
    if (v == 0 || (loss == 0 && rule != SOP_LIBOL)) return loss > 0;
    step s = find_step(rule, m, v, loss, t, l->p);
    if (!isfinite(s.alpha) || !isfinite(s.c)) {
        l->breakdowns++;
        return loss > 0;
    }
    real divisor = rule == IELLIP ? 1 - l->p[1] * pow(l->p[0], (real)(t - 1)) : 1;
    if (s.alpha != 0 || s.c != 0) {
        if (root) root_times(l, l->a, l->z);
        else sigma_times(l, x, l->z);
        for (int64_t j = 0; j < l->d; j++) l->w[j] += s.alpha * y * l->z[j];
        if (s.c != 0 && root) root_shrink(l, s.c, v, divisor);
        if (s.c != 0 && !root) sigma_shrink(l, s.beta, divisor);
    }
    if (keeps_theta) {
        if (loss > 0) add_row(l->theta, y, x);
        multiply_theta(l, root);
    }
    return loss > 0;
}

/* ---- diagonal covariance: Sigma_j for l2, 1 / Sigma_j for the others ---- */

enum { FIRST, FULL, ROOT, KL, L2, EXACT, PRODUCT };

static real diagonal_variance(learner *l, int family, const row *x, real c) {
    real v = 0;
    for (int64_t k = 0; k < x->n; k++) {
        int64_t e = place(k, x->n, l->other);
        real square = (real)x->value[e] * x->value[e], state = l->sigma[x->column[e]];
        v += family == L2 ? state * square : square / (state + c * square);
    }
    return v;
}

/* The root of m + alpha v = phi v+ (cw2012, eq. 33) or phi sqrt(v+) (eq. 34), bisected until the bracket has no number
   inside. v+ belongs to c = 2 alpha phi (var), alpha phi / sqrt(v+) (stdev). The unknown is the margin after the step
   if m < 0 and the gain of margin otherwise: the one that is no difference of two large numbers. */
static step find_exact_step(learner *l, int rule, const row *x, real m, real v) {
    int variance = rule == CW_VAR;
    real phi = l->p[0], known = larger(m, 0), low = 0, high = (variance ? phi * v : phi * sqrt(v)) - known;
    real margin, alpha, c;
    for (int halving = 0; halving < 1000; halving++) {
        real middle = low + (high - low) / 2;
        margin = known + middle, alpha = (m < 0 ? middle - m : middle) / v;
        c = variance ? 2 * alpha * phi : alpha * phi * phi / margin;
        if (middle <= low || middle >= high) break;
        real after = diagonal_variance(l, EXACT, x, c);
        if (margin < phi * (variance ? after : sqrt(after))) low = middle;
        else high = middle;
    }
    return (step){alpha, 0, c};
}

static int diagonal_round(learner *l, int rule, int family, const row *x, real y, real f, int mistake, int64_t t) {
    real m = y * f, v = diagonal_variance(l, family, x, 0);
    if (x->n > 0 && !(v > 0 && isfinite(v))) l->breakdowns++, v = 0;
    real loss = find_loss(rule, m, v, mistake, l->p);
    if (v == 0 || loss == 0) return loss > 0;
    step s = family == EXACT ? find_exact_step(l, rule, x, m, v) : find_step(rule, m, v, loss, t, l->p);
    if (!isfinite(s.alpha) || !isfinite(s.c)) {
        l->breakdowns++;
        return 1;
    }
    for (int64_t k = 0; k < x->n; k++) {
        real value = x->value[k], *state = l->sigma + x->column[k];
        real z = family == L2 ? *state * value : value / *state;
        l->w[x->column[k]] += s.alpha * y * z;
        if (family == L2) *state -= s.beta * z * z;
        else *state += s.c * value * value;
    }
    return 1;
}

/* ---- diagonal SOP: the row itself counts when it is predicted ---- */

static real product_score(learner *l, const row *x, real *size) {
    real f = 0;
    *size = 0;
    for (int64_t k = 0; k < x->n; k++) {
        int64_t e = place(k, x->n, l->other), j = x->column[e];
        real value = x->value[e], term = l->theta[j] * value / (l->sigma[j] + value * value);
        f += term, *size += fabs(term);
    }
    return f;
}

static int product_round(learner *l, const row *x, real y, int mistake) {
    if (!mistake) return 0;
    add_row(l->theta, y, x);
    for (int64_t k = 0; k < x->n; k++) l->sigma[x->column[k]] += (real)x->value[k] * x->value[k];
    return 1;
}

/* ---- the pass ---- */

static int find(const char *id, const char *const *names, int count) {
    for (int k = 0; k < count; k++)
        if (strcmp(id, names[k]) == 0) return k;
    return -1;
}

static first_order_rule *find_first_order(const char *id) {
    for (size_t k = 0; k < sizeof FIRST_ORDER / sizeof *FIRST_ORDER; k++)
        if (strcmp(id, FIRST_ORDER[k].id) == 0) return FIRST_ORDER[k].learn;
    return NULL;
}

static row read_row(int64_t i, const double *data, const int64_t *columns, const int64_t *ends, int other) {
    row x = {ends[i + 1] - ends[i], data + ends[i], columns + ends[i], 0};
    for (int64_t k = 0; k < x.n; k++) {
        real value = x.value[place(k, x.n, other)];
        x.s += value * value;
    }
    return x;
}

/* The sum of |x_j|, times the largest weight seen so far: a score far below it is zero but for rounding. The weights of
   the row do not tell: they may themselves be zero but for rounding. */
static real find_size(const real *w, const row *x, real *largest) {
    real size = 0;
    for (int64_t k = 0; k < x->n; k++) {
        *largest = larger(*largest, fabs(w[x->column[k]]));
        size += fabs((real)x->value[k]);
    }
    return size * *largest;
}

static int describe_round(int mistake, int update, real f, real size) {
    return mistake + 2 * update + 4 * (fabs(f) <= TOLERANCE * size);
}

/* Run the rows of `order`. bits[t] is 1 for a mistake plus 2 for an update in round t plus 4 for a score that is zero
   but for rounding. counts: mistakes, updates and breakdowns. weights: what predicts unseen examples. Return 0, or -1
   if there is no such algorithm. */
int run_pass(const char *id, int family, int other, const real *p, int64_t rounds, int64_t d, const double *data,
             const int64_t *columns, const int64_t *ends, const double *labels, const int64_t *order,
             uint8_t *bits, int64_t *counts, real *weights) {
    first_order_rule *learn = find_first_order(id);
    int rule = find(id, SECOND_ORDER, sizeof SECOND_ORDER / sizeof *SECOND_ORDER);
    if (family == FIRST ? learn == NULL : rule < 0) return -1;
    int matrix = family == FULL || family == ROOT, averaged = strncmp(id, "averaged", 8) == 0;
    learner l = {.d = d, .other = other, .p = p, .w = weights};
    l.total = calloc(averaged ? d : 1, sizeof(real));
    l.theta = calloc(d, sizeof(real));
    l.sigma = calloc(family == FIRST ? 1 : matrix ? d * d : d, sizeof(real));
    l.z = calloc(d, sizeof(real)), l.a = calloc(d, sizeof(real));
    memset(weights, 0, d * sizeof(real));
    if (family != FIRST)
        for (int64_t j = 0; j < d; j++) l.sigma[matrix ? j * d + j : j] = 1;
    int64_t mistakes = 0;
    real largest = 0;
    for (int64_t t = 1; t <= rounds; t++) {
        int64_t i = order[t - 1];
        row x = read_row(i, data, columns, ends, other);
        real y = labels[i], size = family == PRODUCT ? 0 : find_size(l.w, &x, &largest);
        real f = family == PRODUCT ? product_score(&l, &x, &size) : dot(l.w, &x, other);
        int mistake = (f >= 0) != (y > 0), update = 0;
        if (!isfinite(f)) l.breakdowns++;
        else if (family == FIRST) update = learn(&l, &x, y, f, mistake, t);
        else if (matrix) update = full_round(&l, rule, family == ROOT, &x, y, f, mistake, t);
        else if (family == PRODUCT) update = product_round(&l, &x, y, mistake);
        else update = diagonal_round(&l, rule, family, &x, y, f, mistake, t);
        mistakes += mistake, l.updates += update;
        bits[t - 1] = describe_round(mistake, update, f, size);
        if (averaged)
            for (int64_t j = 0; j < d; j++) l.total[j] += l.w[j];
    }
    for (int64_t j = 0; j < d; j++) {
        if (averaged) weights[j] = l.total[j] / rounds;
        if (family == PRODUCT) weights[j] = l.theta[j] / l.sigma[j];
    }
    counts[0] = mistakes, counts[1] = l.updates, counts[2] = l.breakdowns;
    free(l.total), free(l.theta), free(l.sigma), free(l.z), free(l.a);
    return 0;
}

/* ---- advice: sets of D x <= bounds that imply the sign z (adviceptron2010) ---- */

enum { ADVICEPTRON, PRINTED, EXACTLY };
static const char *ADVISED[] = {"adviceptron", "adviceptron-printed", "adviceptron-exact"};

typedef struct {
    int64_t k;
    real z, mu;
    const double *bounds;
    real *gram;               /* D D' */
    real *with_d, *without_d; /* (I + mu (D D' + d d'))^-1 and the same without d d' */
    real *u, *old, *pull;     /* pull: z D w */
} advice_set;

static void invert(real *m, real *inverse, int64_t k) {
    for (int64_t i = 0; i < k * k; i++) inverse[i] = i % (k + 1) == 0;
    for (int64_t c = 0; c < k; c++) {
        real pivot = m[c * k + c];
        for (int64_t j = 0; j < k; j++) m[c * k + j] /= pivot, inverse[c * k + j] /= pivot;
        for (int64_t i = 0; i < k; i++) {
            real factor = m[i * k + c];
            if (i == c || factor == 0) continue;
            for (int64_t j = 0; j < k; j++) {
                m[i * k + j] -= factor * m[c * k + j];
                inverse[i * k + j] -= factor * inverse[c * k + j];
            }
        }
    }
}

static void prepare_set(advice_set *s, const double *D, int64_t d) {
    int64_t k = s->k;
    real *m = calloc(k * k, sizeof(real));
    s->gram = calloc(k * k, sizeof(real)), s->with_d = calloc(k * k, sizeof(real));
    s->without_d = calloc(k * k, sizeof(real));
    s->u = calloc(k, sizeof(real)), s->old = calloc(k, sizeof(real)), s->pull = calloc(k, sizeof(real));
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            for (int64_t e = 0; e < d; e++) s->gram[i * k + j] += (real)D[i * d + e] * D[j * d + e];
    for (int with_d = 0; with_d < 2; with_d++) {
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j < k; j++) {
                real square = with_d ? (real)s->bounds[i] * s->bounds[j] : 0;
                m[i * k + j] = (i == j) + s->mu * (s->gram[i * k + j] + square);
            }
        invert(m, with_d ? s->with_d : s->without_d, k);
    }
    free(m);
}

static void solve_u(advice_set *s, int with_d, int other) {
    int64_t k = s->k;
    const real *inverse = with_d ? s->with_d : s->without_d;
    for (int64_t i = 0; i < k; i++) {
        s->u[i] = 0;
        for (int64_t e = 0; e < k; e++) {
            int64_t j = place(e, k, other);
            s->u[i] += inverse[i * k + j] * (s->old[j] - s->mu * (s->pull[j] + (with_d ? s->bounds[j] : 0)));
        }
    }
}

static real find_gap(const advice_set *s) {
    real gap = 1;
    for (int64_t j = 0; j < s->k; j++) gap += s->bounds[j] * s->u[j];
    return gap;
}

/* Coordinate descent on problem (10) over u >= 0, until no coordinate moves. */
static void minimise_u(advice_set *s, int other) {
    real epsilon = 8 * (nextafter((real)1, (real)2) - 1);
    for (int sweep = 0; sweep < 100000; sweep++) {
        real furthest = 0, largest = 0;
        for (int64_t e = 0; e < s->k; e++) {
            int64_t j = place(e, s->k, other);
            real slope = s->u[j] - s->old[j] + s->mu * s->pull[j], gap = find_gap(s), d = s->bounds[j];
            for (int64_t i = 0; i < s->k; i++) slope += s->mu * s->gram[j * s->k + i] * s->u[i];
            real bend = 1 + s->mu * s->gram[j * s->k + j], move = -slope / bend;
            if (gap + d * move > 0) move = -(slope + s->mu * d * gap) / (bend + s->mu * d * d);
            move = larger(move, -s->u[j]);
            s->u[j] += move;
            furthest = larger(furthest, fabs(move)), largest = larger(largest, s->u[j]);
        }
        if (furthest <= epsilon * largest) return;
    }
}

static void move_u(advice_set *s, int kind, const double *D, const real *w, int64_t d, int other) {
    for (int64_t j = 0; j < s->k; j++) {
        s->old[j] = s->u[j], s->pull[j] = 0;
        for (int64_t e = 0; e < d; e++) s->pull[j] += s->z * D[j * d + place(e, d, other)] * w[place(e, d, other)];
    }
    if (kind == EXACTLY) {
        minimise_u(s, other);
        return;
    }
    solve_u(s, 1, other);
    if (kind == ADVICEPTRON && find_gap(s) < 0) solve_u(s, 0, other);
    for (int64_t j = 0; j < s->k; j++) s->u[j] = larger(0, s->u[j]);
}

/* As run_pass, with `sets` advice sets: the rows of set i in D are those from starts[i] to starts[i + 1]. */
int run_advice(const char *id, int other, const real *p, int64_t rounds, int64_t d, const double *data,
               const int64_t *columns, const int64_t *ends, const double *labels, const int64_t *order, int64_t sets,
               const int64_t *starts, const double *D, const double *bounds, const double *signs, uint8_t *bits,
               int64_t *counts, real *w) {
    int kind = find(id, ADVISED, sizeof ADVISED / sizeof *ADVISED);
    if (kind < 0) return -1;
    real lam = p[0], mu = p[1], nu = 1 / (1 + sets * mu);
    real *r = calloc(d, sizeof(real));
    advice_set *all = calloc(sets ? sets : 1, sizeof(advice_set));
    for (int64_t i = 0; i < sets; i++) {
        all[i] = (advice_set){.k = starts[i + 1] - starts[i], .z = signs[i], .mu = mu, .bounds = bounds + starts[i]};
        prepare_set(&all[i], D + starts[i] * d, d);
    }
    memset(w, 0, d * sizeof(real));
    memset(counts, 0, 3 * sizeof *counts);
    real largest = 0;
    for (int64_t t = 0; t < rounds; t++) {
        int64_t row_number = order[t];
        row x = read_row(row_number, data, columns, ends, other);
        real y = labels[row_number], f = dot(w, &x, other), size = find_size(w, &x, &largest);
        int mistake = (f >= 0) != (y > 0);
        real loss = lost(1, nu * y * f + (1 - nu) * y * dot(r, &x, other));
        real alpha = loss / (1 / lam + nu * x.s);
        add_row(w, alpha * y, &x);
        for (int64_t j = 0; j < d; j++) w[j] = nu * w[j] + (1 - nu) * r[j];
        memset(r, 0, d * sizeof(real));
        for (int64_t i = 0; i < sets; i++) {
            const double *own = D + starts[i] * d;
            move_u(&all[i], kind, own, w, d, other);
            for (int64_t j = 0; j < all[i].k; j++)
                for (int64_t e = 0; e < d; e++) r[e] -= all[i].z * own[j * d + e] * all[i].u[j] / sets;
        }
        counts[0] += mistake, counts[1] += loss > 0, counts[2] += !isfinite(f);
        bits[t] = describe_round(mistake, loss > 0, f, size);
    }
    for (int64_t i = 0; i < sets; i++) {
        free(all[i].gram), free(all[i].with_d), free(all[i].without_d);
        free(all[i].u), free(all[i].old), free(all[i].pull);
    }
    free(all), free(r);
    return 0;
}
