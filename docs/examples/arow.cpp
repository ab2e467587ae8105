// AROW over the line protocol of `olbench conform --command ./arow --as arow`; compile with c++ -O2 -o arow arow.cpp
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

int main() {
    std::vector<double> w, sigma, x, z;
    size_t d = 0;
    double r = 1.0;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        if (line.rfind("start", 0) == 0) {  // start D r=VALUE: forget everything
            std::string word;
            words >> word >> d;
            while (words >> word)
                if (word.rfind("r=", 0) == 0) r = std::stod(word.substr(2));
            w.assign(d, 0.0), x.assign(d, 0.0), z.assign(d, 0.0), sigma.assign(d * d, 0.0);
            for (size_t i = 0; i < d; i++) sigma[i * d + i] = 1.0;
            continue;
        }
        double y, f = 0.0, v = 0.0;  // y x1 ... xD
        words >> y;
        for (double& value : x) words >> value;
        for (size_t i = 0; i < d; i++) {
            f += w[i] * x[i], z[i] = 0.0;
            for (size_t j = 0; j < d; j++) z[i] += sigma[i * d + j] * x[j];
            v += z[i] * x[i];
        }
        if (y * f < 1.0)
            for (size_t i = 0; i < d; i++) {
                w[i] += (1.0 - y * f) / (v + r) * y * z[i];
                for (size_t j = 0; j < d; j++) sigma[i * d + j] -= z[i] * z[j] / (v + r);
            }
        std::printf("%.17g", f);  // the margin before, the weights and the covariance after
        for (double value : w) std::printf(" %.17g", value);
        for (double value : sigma) std::printf(" %.17g", value);
        std::printf("\n"), std::fflush(stdout);
    }
}
